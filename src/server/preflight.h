/*
 * Checks of what would stop a start, apart from the directives themselves: for --check-config.
 */
#ifndef SERVER_PREFLIGHT_H
#define SERVER_PREFLIGHT_H

struct buf;
struct config;

/* Check users, certificates, addresses, and the places of files. The caller is in the directory
 * `dir` as the user of the server. Nothing is changed, and a port that is in use is fine: the
 * server may be running. Returns 0, or -1 with a reason. */
int preflight_check(struct config *config, struct buf *ret_error);

#endif
