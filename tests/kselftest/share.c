// SPDX-License-Identifier: GPL-2.0-only
/* Open files and processes are kept apart; a descriptor is what is shared. */
#define _GNU_SOURCE
#include "ai_test.h"

#include <sys/socket.h>

#define RW (AI_PERM_READ | AI_PERM_WRITE)

/* Everything that names an address, with one that @fd does not own. */
static void refused(int fd, uint64_t la, uint64_t mmap_offset)
{
	AI_ARG(ai_region_info, info, .la = la);
	AI_ARG(ai_free, arg, .la = la);
	struct fixture fix;
	char word[30];

	snprintf(word, sizeof(word), "%llx", (unsigned long long)la);
	FAILS_EITHER(fd, AI_REGION_INFO, &info, EACCES, ENOENT, word);
	FAILS_EITHER(fd, AI_FREE, &arg, EACCES, ENOENT, word);
	errno = 0;
	EXPECT(mmap64(NULL, PAGE, PROT_READ, MAP_SHARED, fd, mmap_offset) == MAP_FAILED,
	       "can be mapped");
	EXPECT(errno == EACCES || errno == ENOENT || errno == EINVAL, "mmap: %s", strerror(errno));

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.in.la = la;
	FAILS_EITHER(fix.fd, AI_INFER, &fix.call, EACCES, ENOENT, word);
	fixture_reset(&fix);
	fix.out.la = la;
	FAILS_EITHER(fix.fd, AI_INFER, &fix.call, EACCES, ENOENT, word);
	fixture_reset(&fix);
	WORKS(fix.fd, AI_INFER, &fix.call);
	close(fix.fd);
}

static void test_other_file(void)
{
	int one = ai_open(), two = ai_open();
	struct ai_alloc a = ai_get_mapped(one, PAGE);
	AI_ARG(ai_region_info, info, .la = a.la);

	*(int *)(uintptr_t)a.address = 17;
	refused(two, a.la, a.mmap_offset);
	WORKS(one, AI_REGION_INFO, &info);
	EXPECT(*(int *)(uintptr_t)a.address == 17, "data is gone");
}

static void test_other_process(void)
{
	int fd = ai_open(), status;
	struct ai_alloc a = ai_get(fd, PAGE, AI_DEVICE_SYSTEM, RW);
	pid_t pid = fork();

	if (!pid) {
		close(fd);
		refused(ai_open(), a.la, a.mmap_offset);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status 0x%x", status);
}

/* A model of one file is no model of another, even with the same number. */
static void test_models(void)
{
	struct fixture one, two;
	AI_ARG(ai_model_info, info);
	AI_ARG(ai_model_unload, unload);
	uint32_t extra;

	fixture_open(&one, SIM_FAST, MODEL_COPY);
	fixture_open(&two, SIM_FAST, MODEL_COPY);
	extra = ai_load(one.fd, SIM_FAST, MODEL_COPY);
	EXPECT(extra != one.model, "a handle twice");
	info.model = extra;
	FAILS(two.fd, AI_MODEL_INFO, &info, ENOENT, NULL);
	unload.model = extra;
	FAILS(two.fd, AI_MODEL_UNLOAD, &unload, ENOENT, NULL);
	two.call.model = extra;
	FAILS(two.fd, AI_INFER, &two.call, ENOENT, NULL);
	one.call.model = extra;
	WORKS(one.fd, AI_INFER, &one.call);
}

/* Who gets the descriptor has all of it, also after its first owner died. */
static void test_passed(void)
{
	struct ai_held before;
	int sockets[2], status, fd;
	struct {
		struct ai_alloc in, out;
		uint32_t model;
	} told;
	struct fixture fix;
	pid_t pid;

	ai_held(&before);
	ASSERT(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	pid = fork();
	if (!pid) {
		fixture_open(&fix, SIM_FAST, MODEL_COPY);
		told.in = fix.in_alloc;
		told.out = fix.out_alloc;
		told.model = fix.model;
		send_fd(sockets[1], fix.fd);
		EXPECT(write(sockets[1], &told, sizeof(told)) == sizeof(told), "write");
		_exit(0);
	}
	fd = receive_fd(sockets[0]);
	ASSERT(read(sockets[0], &told, sizeof(told)) == sizeof(told), "read");
	waitpid(pid, &status, 0);
	ASSERT(WIFEXITED(status) && !WEXITSTATUS(status), "status 0x%x", status);

	fix = (struct fixture){ .fd = fd, .device = SIM_FAST, .model = told.model,
				.in_alloc = told.in, .out_alloc = told.out };
	fix.x = ai_map(fd, &told.in);
	fix.y = ai_map(fd, &told.out);
	EXPECT(fix.x[3] == 3.5f, "data of the first owner is gone");
	fixture_reset(&fix);
	WORKS(fd, AI_INFER, &fix.call);
	EXPECT(fix.y[3] == 3.5f, "output is %f", fix.y[3]);
	EXPECT(!ai_free_la(fd, told.in.la), "free: %s", ai_sentence);
	munmap(fix.x, told.in.bytes);
	munmap(fix.y, told.out.bytes);
	close(fd);
	EXPECT(ai_held_at_most(&before, 2000), "regions are left");
}

/* In flight inside a socket the file lives on; with the socket it goes. */
static void test_lost_in_socket(void)
{
	struct ai_held before;
	struct fixture fix;
	int sockets[2];

	ai_held(&before);
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	ASSERT(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	send_fd(sockets[0], fix.fd);
	munmap(fix.x, fix.in_alloc.bytes);
	munmap(fix.y, fix.out_alloc.bytes);
	close(fix.fd);
	close(sockets[0]);
	close(sockets[1]);
	EXPECT(ai_held_at_most(&before, 2000), "regions are left");
}

static void test_forked(void)
{
	struct fixture fix;
	int status;
	pid_t pid;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	pid = fork();
	if (!pid) {
		struct ai_alloc mine = ai_get(fix.fd, PAGE, AI_DEVICE_SYSTEM, RW);

		WORKS(fix.fd, AI_INFER, &fix.call);
		EXPECT(write(STDERR_FILENO, "", 0) == 0, "write");
		_exit(mine.la == 0);
	}
	WORKS(fix.fd, AI_INFER, &fix.call);
	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status 0x%x", status);
	WORKS(fix.fd, AI_INFER, &fix.call);
}

/* Rights are those of the node; who has the file open needs no others. */
static void test_unprivileged(void)
{
	struct fixture fix;
	int status;
	pid_t pid;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	pid = fork();
	if (!pid) {
		struct ai_alloc a;

		ASSERT(!setgid(65534) && !setuid(65534), "%s", strerror(errno));
		EXPECT(open("/dev/ai0", O_RDWR) < 0 && errno == EACCES, "everybody can open it");
		a = ai_get_mapped(fix.fd, PAGE);
		*(float *)(uintptr_t)a.address = 12;
		fix.in.la = a.la;
		WORKS(fix.fd, AI_INFER, &fix.call);
		ai_load(fix.fd, SIM_FAST, MODEL_NULL);
		_exit(fix.out.needed != 64);
	}
	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status 0x%x", status);
	EXPECT(fix.y[0] == 12, "output %f", fix.y[0]);
}

static void test_dup(void)
{
	struct fixture fix;
	int copy;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	copy = dup(fix.fd);
	close(fix.fd);
	fix.fd = copy;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(!ai_free_la(copy, fix.in_alloc.la), "%s", ai_sentence);
}

static const struct tap_test tests[] = {
	{ "an address of another file is refused", test_other_file, 0 },
	{ "an address of another process is refused", test_other_process, 0 },
	{ "a model of another file is unknown", test_models, 0 },
	{ "a passed descriptor outlives its first owner", test_passed, 0 },
	{ "a descriptor lost in a socket frees everything", test_lost_in_socket, 0 },
	{ "a forked child uses the same file", test_forked, 0 },
	{ "an ordinary user with a descriptor", test_unprivileged, 0 },
	{ "a duplicate is the same file", test_dup, 0 },
};

TAP_MAIN(tests)
