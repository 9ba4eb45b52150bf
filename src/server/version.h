/*
 * The parts of this build, for --version.
 */
#ifndef SERVER_VERSION_H
#define SERVER_VERSION_H

struct buf;

/* Append lines about the version, the format of the log, the compiler and the libraries. */
void version_describe(struct buf *out);

#endif
