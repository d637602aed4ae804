// SPDX-License-Identifier: GPL-2.0-only
/* Memory of processes and memfds as ranges: pinned, and charged to who asked. */
#define _GNU_SOURCE
#include "dmabuf_test.h"

#include <sys/resource.h>

#define SIZE (4 * PAGE)
#define NOBODY 65534

static char *anonymous(uint64_t bytes, int prot)
{
	void *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

/* ---- memory of a process ---- */

static void test_user(void)
{
	char *p = anonymous(SIZE, PROT_READ | PROT_WRITE), *q;
	struct ai_import in;
	struct fixture fix;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	((float *)p)[0] = 5;
	in = import_user(fix.fd, p, SIZE);
	EXPECT(in.origin == AI_ORIGIN_USER && in.bytes == SIZE && in.cache == AI_CACHE_CACHED &&
	       in.device == AI_DEVICE_SYSTEM, "origin %u", in.origin);
	fix.in.la = in.la;
	fix.out.la = in.la;
	fix.out.offset = 2 * PAGE;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(*(float *)(p + 2 * PAGE) == 5, "%f", *(float *)(p + 2 * PAGE));
	q = map_import(fix.fd, &in);
	q[PAGE] = 'q';
	EXPECT(p[PAGE] == 'q', "other pages");
	/* The pages are pinned: they outlive where they came from. */
	munmap(p, SIZE);
	EXPECT(*(float *)q == 5 && q[PAGE] == 'q', "pages went");
	EXPECT(!ai_free_la(fix.fd, in.la), "%s", ai_sentence);
	EXPECT(q[PAGE] == 'q', "pages went while mapped");
}

/* Huge pages are as good as any, and a part of one. */
static void test_large(void)
{
	const uint64_t bytes = 6UL << 20;
	char *p = anonymous(bytes, PROT_READ | PROT_WRITE), *q;
	int fd = ai_open();
	struct ai_import in;
	uint64_t i;

	madvise(p, bytes, MADV_HUGEPAGE);
	for (i = 0; i < bytes; i += PAGE)
		*(uint64_t *)(p + i) = i;
	in = import_user(fd, p + PAGE, bytes - 2 * PAGE);
	q = map_import(fd, &in);
	for (i = 0; i < in.bytes; i += PAGE)
		if (*(uint64_t *)(q + i) != i + PAGE)
			break;
	EXPECT(i == in.bytes, "another page at %llu", (unsigned long long)i);
	EXPECT(lseek(export_range(fd, in.la, 0, 0, 0), 0, SEEK_END) == (off_t)in.bytes, "size");
}

/* After a fork the pages are the parent's, who pinned them; the child has copies. */
static void test_fork(void)
{
	char *p = anonymous(SIZE, PROT_READ | PROT_WRITE), *q;
	int fd = ai_open(), status;
	struct ai_import in;
	pid_t pid;

	strcpy(p, "before");
	in = import_user(fd, p, SIZE);
	q = map_import(fd, &in);
	pid = fork();
	if (!pid) {
		EXPECT(!strcmp(p, "before"), "no copy");
		strcpy(p, "child");
		EXPECT(!strcmp(q, "before"), "the child's copy is pinned");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	strcpy(p, "parent");
	EXPECT(!strcmp(q, "parent"), "%s", q);
}

static void test_bad_user(void)
{
	char *p = anonymous(SIZE, PROT_READ | PROT_WRITE);
	char *readable = anonymous(SIZE, PROT_READ);
	int fd = ai_open();
	struct ai_alloc a = ai_get_mapped(fd, PAGE);
	AI_ARG(ai_import, arg, .kind = AI_IMPORT_USER, .perm = RW, .bytes = SIZE);
	AI_ARG(ai_region_info, info);

	arg.address = (uintptr_t)p + 8;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "address");
	arg.address = (uintptr_t)p;
	arg.bytes = 0;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "bytes 0");
	arg.bytes = 100;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "bytes 100");
	arg.bytes = SIZE;
	arg.offset = PAGE;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "offset");
	arg.offset = 0;
	arg.fd = 3;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "fd is 3");
	arg.fd = 0;
	arg.bytes = ~0ULL << 12;
	FAILS_EITHER(fd, AI_IMPORT, &arg, EFAULT, EFBIG, NULL);
	arg.bytes = 1ULL << 41;
	FAILS_EITHER(fd, AI_IMPORT, &arg, EFBIG, EFAULT, NULL);
	arg.bytes = SIZE;
	arg.address = 0;
	FAILS(fd, AI_IMPORT, &arg, EFAULT, "0x0");
	arg.address = 0xffff888000000000;
	FAILS(fd, AI_IMPORT, &arg, EFAULT, "beyond");

	/* Not there, not writable, or none that could be pinned. */
	munmap(p + PAGE, PAGE);
	arg.address = (uintptr_t)p;
	FAILS(fd, AI_IMPORT, &arg, EFAULT, "mapped");
	arg.address = (uintptr_t)readable;
	FAILS(fd, AI_IMPORT, &arg, EFAULT, "writable");
	arg.address = a.address;
	arg.bytes = PAGE;
	FAILS(fd, AI_IMPORT, &arg, EFAULT, "of a device");
	arg.address = (uintptr_t)p + 2 * PAGE;
	WORKS(fd, AI_IMPORT, &arg);
	EXPECT(arg.la, "no address");
	info.la = arg.la;
	WORKS(fd, AI_REGION_INFO, &info);
}

/* ---- memfd ---- */

static void test_memfd(void)
{
	int fd = ai_open(), memfd = memfd_sealed(SIZE, F_SEAL_SHRINK);
	char *p = map_fd(memfd, SIZE, PROT_READ | PROT_WRITE), *q;
	struct ai_import in;
	char text[20] = "";

	strcpy(p + PAGE, "file");
	in = import_fd(fd, memfd, PAGE, 2 * PAGE, RW);
	EXPECT(in.origin == AI_ORIGIN_MEMFD && in.bytes == 2 * PAGE, "origin %u", in.origin);
	q = map_import(fd, &in);
	EXPECT(!strcmp(q, "file"), "other pages");
	strcpy(q + PAGE, "range");
	EXPECT(pread(memfd, text, 6, 2 * PAGE) == 6 && !strcmp(text, "range"), "%s", text);
	/* Whole, a page that was never touched included. */
	in = import_fd(fd, memfd, 0, 0, RW);
	EXPECT(in.bytes == SIZE, "%llu bytes", (unsigned long long)in.bytes);
	/* What a device wrote is there when all else has gone. */
	munmap(p, SIZE);
	munmap(q, 2 * PAGE);
	close(fd);
	EXPECT(pread(memfd, text, 6, 2 * PAGE) == 6 && !strcmp(text, "range"), "%s", text);
}

static void test_truncated(void)
{
	int fd = ai_open(), memfd = memfd_create("loose", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	AI_ARG(ai_import, arg, .fd = memfd, .perm = RW);
	int plain = memfd_create("plain", MFD_CLOEXEC);
	struct ai_import in;
	char *q;

	ASSERT(!ftruncate(memfd, SIZE) && !ftruncate(plain, SIZE), "%s", strerror(errno));
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "F_SEAL_SHRINK");
	arg.fd = plain;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "F_SEAL_SHRINK");
	ASSERT(!fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK), "%s", strerror(errno));
	in = import_fd(fd, memfd, 0, 0, RW);
	q = map_import(fd, &in);
	q[3 * PAGE] = 1;
	EXPECT(ftruncate(memfd, PAGE) && errno == EPERM, "cut off beneath: %s", strerror(errno));
	/* A hole is not what a seal is against: the pages stay, the file has others. */
	EXPECT(!fallocate(memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE),
	       "fallocate: %s", strerror(errno));
	EXPECT(q[3 * PAGE] == 1, "pages went while mapped");
	EXPECT(!ai_free_la(fd, in.la), "%s", ai_sentence);
	EXPECT(q[3 * PAGE] == 1, "pages went while mapped");
}

static void test_memfd_read_only(void)
{
	int fd = ai_open(), memfd = memfd_sealed(SIZE, F_SEAL_SHRINK | F_SEAL_WRITE), again;
	int open_memfd = memfd_sealed(SIZE, F_SEAL_SHRINK);
	AI_ARG(ai_import, arg, .fd = memfd, .perm = RW);
	struct ai_import in;
	char path[40], *q;

	FAILS(fd, AI_IMPORT, &arg, EACCES, "sealed against writing");
	in = import_fd(fd, memfd, 0, 0, AI_PERM_READ);
	EXPECT(mmap64(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, in.mmap_offset) ==
	       MAP_FAILED && errno == EACCES, "can be mapped for writing");
	q = mmap64(NULL, SIZE, PROT_READ, MAP_SHARED, fd, in.mmap_offset);
	ASSERT(q != MAP_FAILED, "cannot be mapped: %s", strerror(errno));
	EXPECT(mprotect(q, SIZE, PROT_READ | PROT_WRITE) && errno == EACCES,
	       "can be made writable");

	snprintf(path, sizeof(path), "/proc/self/fd/%d", open_memfd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT(again >= 0, "%s: %s", path, strerror(errno));
	arg.fd = again;
	FAILS(fd, AI_IMPORT, &arg, EACCES, "open for reading");
	/* While somebody may write, nobody seals against it. */
	in = import_fd(fd, open_memfd, 0, 0, RW);
	EXPECT(fcntl(open_memfd, F_ADD_SEALS, F_SEAL_WRITE) && errno == EBUSY,
	       "sealed while it can be written: %s", strerror(errno));
}

static void test_bad_memfd(void)
{
	int fd = ai_open(), memfd = memfd_sealed(SIZE, F_SEAL_SHRINK);
	int odd = memfd_sealed(SIZE + 100, F_SEAL_SHRINK), empty = memfd_sealed(0, F_SEAL_SHRINK);
	AI_ARG(ai_import, arg, .fd = memfd, .perm = RW);

	arg.offset = SIZE;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "16384 bytes");
	arg.offset = PAGE;
	arg.bytes = SIZE;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "16384 bytes");
	arg.fd = odd;
	arg.offset = 0;
	arg.bytes = 0;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "16484 bytes");
	arg.fd = empty;
	FAILS(fd, AI_IMPORT, &arg, EINVAL, "0 bytes");
}

/* ---- RLIMIT_MEMLOCK ---- */

static void test_limit(void)
{
	char *p = anonymous(SIZE, PROT_READ | PROT_WRITE);
	int fd = ai_open(), memfd = memfd_sealed(SIZE, F_SEAL_SHRINK), i;
	struct rlimit limit = { 3 * PAGE, 3 * PAGE };
	AI_ARG(ai_import, arg, .kind = AI_IMPORT_USER, .perm = RW, .address = (uintptr_t)p);
	AI_ARG(ai_import, file, .fd = memfd, .perm = RW, .bytes = 2 * PAGE);
	struct ai_import in;

	ASSERT(!setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit: %s", strerror(errno));
	/* Who has the capability has no limit. */
	in = import_user(fd, p, SIZE);
	EXPECT(!ai_free_la(fd, in.la), "%s", ai_sentence);
	ASSERT(!setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, NOBODY, NOBODY),
	       "setresuid: %s", strerror(errno));
	arg.bytes = SIZE;
	FAILS(fd, AI_IMPORT, &arg, ENOMEM, "RLIMIT_MEMLOCK is 12288");
	for (i = 0; i < 3; i++) {
		arg.bytes = 2 * PAGE;
		WORKS(fd, AI_IMPORT, &arg);
		file.bytes = 2 * PAGE;
		FAILS(fd, AI_IMPORT, &file, ENOMEM, "8192 are already");
		file.bytes = PAGE;
		WORKS(fd, AI_IMPORT, &file);
		/* What fails later gives back what it was charged. */
		munmap(p + 3 * PAGE, PAGE);
		EXPECT(!ai_free_la(fd, arg.la) && !ai_free_la(fd, file.la), "%s", ai_sentence);
		arg.address = (uintptr_t)p + 3 * PAGE;
		arg.bytes = PAGE;
		FAILS(fd, AI_IMPORT, &arg, EFAULT, NULL);
		arg.address = (uintptr_t)p;
	}
}

static const struct tap_test tests[] = {
	{ "memory of a process", test_user, 0 },
	{ "huge pages", test_large, 0 },
	{ "fork", test_fork, 0 },
	{ "memory that cannot be pinned", test_bad_user, 0 },
	{ "a memfd", test_memfd, 0 },
	{ "a memfd is not cut off beneath", test_truncated, 0 },
	{ "a memfd that cannot be written", test_memfd_read_only, 0 },
	{ "memfds that cannot be", test_bad_memfd, 0 },
	{ "what is pinned is limited", test_limit, 0 },
};

TAP_MAIN(tests)
