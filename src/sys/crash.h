/*
 * Crash reports, written by the dying process itself.
 *
 * The report goes line by line to the descriptor of the log. It contains the load address of the
 * program, so that addr2line can translate addresses to source lines. Then the process dies of the
 * same signal, which writes a core dump if they are enabled.
 */
#ifndef SYS_CRASH_H
#define SYS_CRASH_H

/* Report SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, on a separate stack. `version` is borrowed
 * for the life of the process. The state of this module is global because signal handlers are. */
void crash_install(const char *version);

#endif
