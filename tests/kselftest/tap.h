/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests that speak the Test Anything Protocol.
 *
 * Every test runs in a process of its own, which leads a process group of its
 * own: a test that crashes, hangs or leaves children behind spoils nothing
 * else, and what it opened is closed when it ends. EXPECT() notes a failure and
 * goes on, ASSERT() ends the test, SKIP() ends it as not applicable. All three
 * may be used in threads and in children of the test.
 */
#ifndef TAP_H
#define TAP_H

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define TAP_SECONDS 60 /* longest run of a test that states nothing else */
#define TAP_NOTES 12 /* failures printed for one test */
#define TAP_SKIPPED 4

/* How many times longer everything may take: AI_TEST_SLOW, for a kernel that checks a lot. */
static inline int tap_slow(void)
{
	const char *text = getenv("AI_TEST_SLOW");
	int slow = text ? atoi(text) : 1;

	return slow > 0 ? slow : 1;
}

/* Fewer rounds there. */
static inline int tap_less(int rounds)
{
	return (rounds + tap_slow() - 1) / tap_slow();
}

struct tap_test {
	const char *name;
	void (*run)(void);
	unsigned int seconds;
};

/* Shared between the harness, the test and the children of the test. */
struct tap_state {
	unsigned int failures;
	char skipped[200];
};

__attribute__((weak)) struct tap_state *tap_state; /* one for all files of a program */

/*
 * Before the first and after each test, in the harness. tap_after() returns
 * what the test left behind, or NULL.
 */
void tap_before(void);
const char *tap_after(void);

__attribute__((format(printf, 4, 5))) static inline bool
tap_expect(bool good, const char *file, int line, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	if (good)
		return true;
	if (__atomic_fetch_add(&tap_state->failures, 1, __ATOMIC_SEQ_CST) < TAP_NOTES) {
		int saved = errno;

		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		printf("# %s:%d: %s\n", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line,
		       text);
		fflush(stdout);
		errno = saved;
	}
	return false;
}

#define EXPECT(cond, ...) tap_expect(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

#define ASSERT(cond, ...)                  \
	do {                               \
		if (!EXPECT(cond, __VA_ARGS__)) \
			_exit(1);          \
	} while (0)

#define SKIP(...)                                                                     \
	do {                                                                          \
		snprintf(tap_state->skipped, sizeof(tap_state->skipped), __VA_ARGS__); \
		_exit(TAP_SKIPPED);                                                   \
	} while (0)

static inline int tap_wait(pid_t pid, int milliseconds, int *status)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0);
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };
	int ready;

	if (pidfd < 0)
		return -1;
	do {
		ready = poll(&pfd, 1, milliseconds);
	} while (ready < 0 && errno == EINTR);
	close(pidfd);
	if (ready <= 0)
		return -1;
	return waitpid(pid, status, 0) == pid ? 0 : -1;
}

static inline void tap_result(unsigned int number, const struct tap_test *test, const char *problem)
{
	printf("%s %u - %s", problem ? "not ok" : "ok", number, test->name);
	if (!problem && tap_state->skipped[0])
		printf(" # SKIP %s", tap_state->skipped);
	printf("\n");
	if (problem && problem[0])
		printf("# %s\n", problem);
}

/* Runs @test; the answer is what is wrong with it, or NULL. */
static inline const char *tap_one(const struct tap_test *test)
{
	unsigned int seconds = (test->seconds ? test->seconds : TAP_SECONDS) * tap_slow();
	static char problem[300];
	const char *left;
	int status = 0;
	pid_t pid;

	memset(tap_state, 0, sizeof(*tap_state));
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return "fork failed";
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		test->run();
		fflush(stdout);
		_exit(0);
	}
	setpgid(pid, pid);

	problem[0] = 0;
	if (tap_wait(pid, seconds * 1000, &status)) {
		snprintf(problem, sizeof(problem), "did not end in %u s", seconds);
		kill(-pid, SIGKILL);
		if (tap_wait(pid, 20000, &status)) {
			printf("Bail out! %s: process %d survives SIGKILL\n", test->name, (int)pid);
			exit(1);
		}
	} else {
		kill(-pid, SIGKILL);
		if (WIFSIGNALED(status))
			snprintf(problem, sizeof(problem), "killed by signal %d (%s)",
				 WTERMSIG(status), strsignal(WTERMSIG(status)));
	}
	left = tap_after();
	if (problem[0])
		return problem;
	if (tap_state->failures) {
		snprintf(problem, sizeof(problem), "%u checks failed", tap_state->failures);
		return problem;
	}
	if (WEXITSTATUS(status) && !tap_state->skipped[0]) {
		snprintf(problem, sizeof(problem), "exit status %d", WEXITSTATUS(status));
		return problem;
	}
	if (left) {
		snprintf(problem, sizeof(problem), "leaves behind: %s", left);
		return problem;
	}
	return NULL;
}

/* Whether the arguments ask for the test: a part of its name, or -PART of others. */
static inline bool tap_wanted(const char *name, int argc, char **argv)
{
	bool wanted = true;
	int i;

	for (i = 1; i < argc; i++) {
		if (argv[i][0] == '-' && strstr(name, argv[i] + 1))
			return false;
		if (argv[i][0] != '-') {
			if (strstr(name, argv[i]))
				return true;
			wanted = false;
		}
	}
	return wanted;
}

/* Runs all tests, or those that the arguments ask for. */
static inline int tap_run(const struct tap_test *tests, unsigned int count, int argc, char **argv)
{
	unsigned int i, failed = 0;

	/* Whether the kernel can run this program at all, with threads. */
	if (getenv("AI_ONLY_START")) {
		int word = 0;

		return syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) < 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	tap_state = mmap(NULL, sizeof(*tap_state), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tap_state == MAP_FAILED) {
		printf("Bail out! no shared memory\n");
		return 1;
	}
	tap_before();
	printf("1..%u\n", count);
	for (i = 0; i < count; i++) {
		struct timespec a, b;
		const char *problem;

		if (!tap_wanted(tests[i].name, argc, argv)) {
			printf("ok %u - %s # SKIP not asked for\n", i + 1, tests[i].name);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &a);
		problem = tap_one(&tests[i]);
		clock_gettime(CLOCK_MONOTONIC, &b);
		if (b.tv_sec - a.tv_sec >= 5)
			printf("# %s took %ld s\n", tests[i].name, (long)(b.tv_sec - a.tv_sec));
		tap_result(i + 1, &tests[i], problem);
		failed += problem != NULL;
	}
	fflush(stdout);
	return failed != 0;
}

#define TAP_MAIN(tests)                                                             \
	int main(int argc, char **argv)                                             \
	{                                                                           \
		return tap_run(tests, ARRAY_SIZE(tests), argc, argv); \
	}

#endif /* TAP_H */
