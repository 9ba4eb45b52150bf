#include "sys/crash.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/files.h"
#include "sys/log.h"
#include "util/mem.h"

#define CRASH_MAX_FRAMES  128
#define CRASH_STACK_BYTES ((size_t)128 * 1024)

static const struct {
	int number;
	const char *name;
} signals[] = {
	{ SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" },	{ SIGFPE, "SIGFPE" },
	{ SIGILL, "SIGILL" },	{ SIGABRT, "SIGABRT" },
};

#define SIGNALS (sizeof signals / sizeof signals[0])

/* Everything that the handler needs, prepared in advance: in the handler the heap may be broken and
 * locks may be held. */
static struct {
	const char *version;
	char executable[PATH_MAX];
	uintptr_t base; /* load address of the executable: an address minus this is the address in
			   the file */
	uintptr_t end;
	atomic_flag is_reported;
} crash = { .is_reported = ATOMIC_FLAG_INIT };

/* A few output functions that are safe in a signal handler. */
static void out(const char *text)
{
	files_write_all(log_fd(), str_from(text));
}

static void out_number(uint64_t number, unsigned base)
{
	char digits[24];
	char *at = digits + sizeof digits - 1;

	*at = '\0';
	do
		*--at = "0123456789abcdef"[number % base];
	while ((number /= base) != 0);
	out(at);
}

static void out_address(uintptr_t address)
{
	out("0x");
	out_number(address, 16);
}

static const char *signal_name(int number)
{
	for (size_t i = 0; i < SIGNALS; i++) {
		if (signals[i].number == number)
			return signals[i].name;
	}
	return "signal";
}

static uintptr_t program_counter(const void *context)
{
	const ucontext_t *uc = context;

#if defined __x86_64__
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
	return (uintptr_t)uc->uc_mcontext.pc;
#else
	(void)uc;
	return 0;
#endif
}

static void report_head(int number, const siginfo_t *info, const void *context)
{
	out("=== qlessd ");
	out(crash.version);
	out(" crashed: ");
	out(signal_name(number));
	out(" (");
	out_number((uint64_t)number, 10);
	out("), code ");
	if (info->si_code < 0)
		out("-");
	out_number((uint64_t)(info->si_code < 0 ? -(int64_t)info->si_code : info->si_code), 10);
	/* The address is only meaningful if the processor raised the signal. */
	if (info->si_code > 0 && number != SIGABRT) {
		out(", address ");
		out_address((uintptr_t)info->si_addr);
	}
	out(", at instruction ");
	out_address(program_counter(context));
	out("\npid ");
	out_number((uint64_t)getpid(), 10);
	out(", time ");
	out_number((uint64_t)clock_wall_us() / 1000000, 10);
	out(", ");
	out(crash.executable);
	out(" is loaded at ");
	out_address(crash.base);
	out("\n");
}

/* In all frames except the one that the signal interrupted, the address is the one after a call. */
static void report_backtrace(uintptr_t hit)
{
	void *frames[CRASH_MAX_FRAMES];
	int count = backtrace(frames, CRASH_MAX_FRAMES);

	out("Backtrace:\n");
	backtrace_symbols_fd(frames, count, log_fd());
	out("The source lines, where there is debug information:\naddr2line -pifCe ");
	out(crash.executable);
	for (int i = 0; i < count; i++) {
		uintptr_t address = (uintptr_t)frames[i];

		if (address >= crash.base && address < crash.end) {
			out(" ");
			out_address(address - crash.base - (address != hit));
		}
	}
	out("\n");
}

static void report_maps(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char part[1024];
	ssize_t got;

	if (fd < 0)
		return;
	out("Memory map:\n");
	while ((got = read(fd, part, sizeof part)) > 0)
		files_write_all(log_fd(), str_make(part, (size_t)got));
	close(fd);
}

/* SA_RESETHAND restored the default action on entry, so a crash in here ends the process at once.
 * The signal raised at the end is delivered when the handler returns. */
static void handle(int number, siginfo_t *info, void *context)
{
	if (!atomic_flag_test_and_set(&crash.is_reported)) {
		report_head(number, info, context);
		report_backtrace(program_counter(context));
		report_maps();
		out("=== End of the crash report\n");
	}
	raise(number);
}

/* The loader lists the executable first. */
static int find_executable(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	crash.base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;

		if (segment->p_type == PT_LOAD && end > crash.end)
			crash.end = end;
	}
	return 1;
}

void crash_install(const char *version)
{
	struct sigaction action = { .sa_sigaction = handle };
	void *frames[1];
	stack_t stack = { .ss_size = CRASH_STACK_BYTES };
	ssize_t len;

	crash.version = version;
	len = readlink("/proc/self/exe", crash.executable, sizeof crash.executable - 1);
	crash.executable[len > 0 ? len : 0] = '\0';
	dl_iterate_phdr(find_executable, NULL);
	/* The first call loads a library, which allocates memory: make it now. */
	backtrace(frames, 1);

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		sigaltstack(&stack, NULL);
	sigemptyset(&action.sa_mask);
	action.sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i].number, &action, NULL);
}
