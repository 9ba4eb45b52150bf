/*
 * The report of a crash: what happened and where, written by the dying process itself.
 *
 * It goes to the log's descriptor, line by line. Addresses come with the place where the program is
 * loaded, so that addr2line can tell the source lines. Then the process dies of the same signal,
 * which gives a core dump where they are enabled.
 */
#ifndef SYS_CRASH_H
#define SYS_CRASH_H

/* Report SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, on a stack of the handler's own. `version` is
 * borrowed for the life of the process. Signal handlers belong to the process, and so does what
 * this module keeps. */
void crash_install(const char *version);

#endif
