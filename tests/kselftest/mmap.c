// SPDX-License-Identifier: GPL-2.0-only
/* Mappings of /dev/ai0: every way to make, change and end one. */
#define _GNU_SOURCE
#include "ai_test.h"

#include <sys/uio.h>

#define RW (AI_PERM_READ | AI_PERM_WRITE)

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static uint32_t mappings(int fd, uint64_t la)
{
	AI_ARG(ai_region_info, info, .la = la);

	WORKS(fd, AI_REGION_INFO, &info);
	EXPECT(info.refs == info.mappings + 1, "%u users of which %u mappings", info.refs,
	       info.mappings);
	return info.mappings;
}

static void *map_at(int fd, uint64_t offset, size_t bytes, int prot, int flags)
{
	return mmap64(NULL, bytes, prot, flags, fd, offset);
}

#define NO_MAP(...)                                                              \
	do {                                                                     \
		errno = 0;                                                       \
		EXPECT(map_at(__VA_ARGS__) == MAP_FAILED, "mapped: " #__VA_ARGS__); \
		EXPECT(errno == EINVAL || errno == ENOENT || errno == EACCES ||   \
		       errno == ENXIO || errno == ENOMEM || errno == EOVERFLOW || \
		       errno == ENODEV, "%s: " #__VA_ARGS__, strerror(errno));   \
	} while (0)

static void test_bad_ranges(void)
{
	int fd = ai_open();
	struct ai_alloc before = ai_get(fd, PAGE, AI_DEVICE_SYSTEM, RW);
	struct ai_alloc a = ai_get(fd, 4 * PAGE, AI_DEVICE_SYSTEM, RW);
	struct ai_alloc after = ai_get(fd, 16 * PAGE, AI_DEVICE_SYSTEM, RW);
	uint64_t at = a.mmap_offset;
	int prot = PROT_READ | PROT_WRITE;

	(void)before;
	/* The neighbours may well have adjoining addresses: no mapping spans two. */
	NO_MAP(fd, at, 5 * PAGE, prot, MAP_SHARED);
	NO_MAP(fd, at + PAGE, 4 * PAGE, prot, MAP_SHARED);
	NO_MAP(fd, at + 3 * PAGE, 2 * PAGE, prot, MAP_SHARED);
	NO_MAP(fd, at - PAGE, 2 * PAGE, prot, MAP_SHARED);
	NO_MAP(fd, at, 1UL << 30, prot, MAP_SHARED);
	NO_MAP(fd, 0, PAGE, prot, MAP_SHARED);
	NO_MAP(fd, after.mmap_offset + 16 * PAGE, PAGE, prot, MAP_SHARED);
	NO_MAP(fd, 1ULL << 39, PAGE, prot, MAP_SHARED);
#ifdef __LP64__
	NO_MAP(fd, at | 1ULL << 40, PAGE, prot, MAP_SHARED); /* another device */
	NO_MAP(fd, at | 1ULL << 48, PAGE, prot, MAP_SHARED);
	NO_MAP(fd, at | 1ULL << 62, PAGE, prot, MAP_SHARED);
	NO_MAP(fd, 0x7ffffffffffff000ULL, PAGE, prot, MAP_SHARED);
	NO_MAP(fd, 0xfffffffffffff000ULL, PAGE, prot, MAP_SHARED);
#endif
	EXPECT(mappings(fd, a.la) == 0, "a refused mapping counts");
	EXPECT(mappings(fd, after.la) == 0, "a refused mapping counts");
}

static void test_private(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get_mapped(fd, PAGE);
	volatile char *shared = (char *)(uintptr_t)a.address, *p;

	NO_MAP(fd, a.mmap_offset, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	/* A private read-only mapping has no copy to make. It must not get one later. */
	p = map_at(fd, a.mmap_offset, PAGE, PROT_READ, MAP_PRIVATE);
	if (p != MAP_FAILED) {
		shared[0] = 5;
		EXPECT(p[0] == 5, "private view is old");
		EXPECT(mprotect((void *)p, PAGE, PROT_READ | PROT_WRITE) < 0,
		       "a private mapping became writable");
	}
}

static void test_partial(void)
{
	int fd = ai_open(), i;
	struct ai_alloc a = ai_get_mapped(fd, 600 * PAGE);
	char *whole = (char *)(uintptr_t)a.address;
	const struct {
		unsigned int page, pages;
	} parts[] = { { 0, 1 }, { 599, 1 }, { 1, 598 }, { 511, 2 }, { 512, 1 }, { 37, 200 } };

	for (i = 0; i < 600; i++)
		*(int *)(whole + i * PAGE) = i;
	for (i = 0; i < (int)ARRAY_SIZE(parts); i++) {
		char *p = map_at(fd, a.mmap_offset + parts[i].page * PAGE, parts[i].pages * PAGE,
				 PROT_READ | PROT_WRITE, MAP_SHARED);
		unsigned int k;

		ASSERT(p != MAP_FAILED, "%s", strerror(errno));
		for (k = 0; k < parts[i].pages; k++) {
			unsigned int page = *(unsigned int *)(p + k * PAGE);

			EXPECT(page == parts[i].page + k, "page %u of part %d is page %u", k, i,
			       page);
		}
		munmap(p, parts[i].pages * PAGE);
	}
	EXPECT(mappings(fd, a.la) == 1, "%u mappings", mappings(fd, a.la));
	/* A length that ends inside a page means the whole page. */
	EXPECT(map_at(fd, a.mmap_offset + 599 * PAGE, 1, PROT_READ, MAP_SHARED) != MAP_FAILED,
	       "one byte of the last page: %s", strerror(errno));
}

static void test_several(void)
{
	int fd = ai_open(), i;
	struct ai_alloc a = ai_get(fd, (4 << 20) + 3 * PAGE, AI_DEVICE_SYSTEM, RW);
	volatile char *views[8];

	for (i = 0; i < 8; i++)
		views[i] = ai_map(fd, &a);
	for (i = 0; i < 8; i++) {
		size_t at = i * 500001;
		int k;

		views[i][at] = i + 1;
		for (k = 0; k < 8; k++)
			EXPECT(views[k][at] == i + 1, "view %d does not see what %d wrote", k, i);
	}
	EXPECT(mappings(fd, a.la) == 8, "%u mappings", mappings(fd, a.la));
	for (i = 0; i < 8; i++)
		munmap((void *)views[i], a.bytes);
	EXPECT(mappings(fd, a.la) == 0, "%u mappings", mappings(fd, a.la));
}

static void test_holes(void)
{
	int fd = ai_open(), i;
	struct ai_alloc a = ai_get_mapped(fd, 8 << 20);
	char *p = (char *)(uintptr_t)a.address;

	memset(p, 0x66, a.bytes);
	for (i = 1; i < 20; i += 2)
		munmap(p + i * 33 * PAGE, PAGE);
	EXPECT(mappings(fd, a.la) == 11, "%u mappings after ten holes", mappings(fd, a.la));
	for (i = 0; i < 20; i++) {
		bool there = can_read(p + i * 33 * PAGE);

		EXPECT(there == !(i & 1), "page %d is %s", i * 33, there ? "there" : "gone");
	}
	EXPECT(p[a.bytes - 1] == 0x66 && p[34 * PAGE] == 0x66, "data is gone");
	/* One call over all the pieces and the holes. */
	munmap(p, a.bytes);
	EXPECT(mappings(fd, a.la) == 0, "%u mappings", mappings(fd, a.la));
}

static void test_mprotect(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get_mapped(fd, 3 << 20);
	char *p = (char *)(uintptr_t)a.address;
	size_t middle = (1 << 20) + 5 * PAGE;

	p[0] = p[middle] = p[a.bytes - 1] = 1;
	ASSERT(!mprotect(p + middle, PAGE, PROT_READ), "mprotect: %s", strerror(errno));
	EXPECT(can_read(p + middle), "cannot be read");
	EXPECT(!can_write(p + middle), "can be written");
	EXPECT(can_write(p + middle - 1) && can_write(p + middle + PAGE),
	       "its neighbours cannot be written");
	ASSERT(!mprotect(p, a.bytes, PROT_NONE), "mprotect: %s", strerror(errno));
	EXPECT(!can_read(p) && !can_read(p + middle), "can be read");
	ASSERT(!mprotect(p, a.bytes, PROT_READ | PROT_WRITE), "mprotect: %s", strerror(errno));
	EXPECT(can_write(p + middle + 7) && p[middle] == 1 && p[0] == 1, "data is gone");
}

static void test_read_only_view(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get_mapped(fd, 2 << 20);
	char *p = (char *)(uintptr_t)a.address;
	char *view = map_at(fd, a.mmap_offset, a.bytes, PROT_READ, MAP_SHARED);
	int file;
	char *q;

	ASSERT(view != MAP_FAILED, "%s", strerror(errno));
	EXPECT(!can_write(view), "a read-only view can be written");
	EXPECT(can_read(view), "cannot be read");
	p[9] = 9;
	EXPECT(view[9] == 9, "old data");
	EXPECT(!mprotect(view, a.bytes, PROT_READ | PROT_WRITE), "%s", strerror(errno));
	EXPECT(can_write(view), "cannot be written after mprotect");

	/* A file open for reading gives no writable mapping. */
	file = open("/dev/ai0", O_RDONLY | O_CLOEXEC);
	ASSERT(file >= 0, "%s", strerror(errno));
	a = ai_get(file, PAGE, AI_DEVICE_SYSTEM, RW);
	NO_MAP(file, a.mmap_offset, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
	q = map_at(file, a.mmap_offset, PAGE, PROT_READ, MAP_SHARED);
	if (EXPECT(q != MAP_FAILED, "%s", strerror(errno)))
		EXPECT(mprotect(q, PAGE, PROT_READ | PROT_WRITE) < 0, "became writable");
}

static void test_mremap(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get_mapped(fd, 64 * PAGE), big = ai_get_mapped(fd, 4 << 20);
	char *p = (char *)(uintptr_t)a.address, *q, *to;

	*(int *)p = 1;
	*(int *)(p + 40 * PAGE) = 41;
	to = mmap(NULL, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	q = mremap(p, 64 * PAGE, 64 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	ASSERT(q == to, "move: %s", strerror(errno));
	EXPECT(*(int *)q == 1 && *(int *)(q + 40 * PAGE) == 41, "moved to other pages");
	EXPECT(!can_read(p), "still at the old place");
	*(int *)(q + 63 * PAGE) = 64;
	EXPECT(mappings(fd, a.la) == 1, "%u mappings", mappings(fd, a.la));

	/* The middle moves alone: three mappings. */
	to = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(mremap(q + 40 * PAGE, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
	       "move of a part: %s", strerror(errno));
	EXPECT(*(int *)to == 41, "moved part has other pages");
	EXPECT(mappings(fd, a.la) == 3, "%u mappings", mappings(fd, a.la));

	EXPECT(mremap(q, 8 * PAGE, 4 * PAGE, 0) == q, "shrink: %s", strerror(errno));
	EXPECT(*(int *)q == 1, "data is gone");
	EXPECT(mremap(q, 4 * PAGE, 128 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED, "grew past its end");
	EXPECT(mremap(q, 4 * PAGE, 6 * PAGE, 0) == MAP_FAILED, "grew");

	/* Old size 0 asks for a second mapping: if it is made it is a true one. */
	q = mremap((void *)(uintptr_t)big.address, 0, big.bytes, MREMAP_MAYMOVE);
	if (q != MAP_FAILED) {
		*(int *)(uintptr_t)big.address = 77;
		EXPECT(*(int *)q == 77, "another range");
		EXPECT(mappings(fd, big.la) == 2, "%u mappings", mappings(fd, big.la));
		munmap(q, big.bytes);
	}
	q = mremap((void *)(uintptr_t)big.address, big.bytes, big.bytes,
		   MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	if (q != MAP_FAILED)
		munmap(q, big.bytes);
	close(fd);
}

/* A child has the mappings of its parent or has none: never pages of somebody else. */
static void test_fork(void)
{
	int fd = ai_open(), status, pipes[2];
	struct ai_alloc a = ai_get_mapped(fd, 3 << 20);
	volatile char *p = (char *)(uintptr_t)a.address;
	char byte = 0;
	pid_t pid;

	ASSERT(!pipe(pipes), "pipe");
	p[0] = 1;
	p[2 << 20] = 2;
	pid = fork();
	if (!pid) {
		close(pipes[1]);
		if (can_read(p)) {
			EXPECT(p[0] == 1 && p[2 << 20] == 2, "other data than the parent's");
			p[1] = 9;
			if (read(pipes[0], &byte, 1) == 1)
				EXPECT(p[2] == 10, "does not see what the parent writes");
		} else {
			EXPECT(!can_read(p + (2 << 20)), "half of it is mapped");
			if (read(pipes[0], &byte, 1) != 1)
				_exit(1);
		}
		munmap((void *)p, PAGE);
		_exit(0);
	}
	EXPECT(mappings(fd, a.la) >= 1, "no mapping");
	p[2] = 10;
	EXPECT(write(pipes[1], &byte, 1) == 1, "pipe");
	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "child ended with 0x%x", status);
	EXPECT(p[1] == 9 || p[1] == 0, "byte %d", p[1]);
	EXPECT(mappings(fd, a.la) == 1, "%u mappings after the child", mappings(fd, a.la));
	printf("# a child %s the mappings of its parent\n", p[1] == 9 ? "shares" : "has none of");
}

/* A child that lives on keeps what it maps, whatever its parent does. */
static void test_fork_outlives(void)
{
	struct ai_held before;
	int fd, status, pipes[2];
	struct ai_alloc a;
	char byte = 0;
	char *p;
	pid_t pid;

	ai_held(&before);
	fd = ai_open();
	a = ai_get_mapped(fd, 1 << 20);
	p = (char *)(uintptr_t)a.address;
	memset(p, 0x21, a.bytes);
	ASSERT(!pipe(pipes), "pipe");
	pid = fork();
	if (!pid) {
		close(fd);
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) != 1)
			_exit(1);
		if (can_read(p))
			EXPECT(all_bytes(p, a.bytes, 0x21), "pages went while mapped");
		_exit(0);
	}
	ai_free_la(fd, a.la);
	munmap(p, a.bytes);
	close(fd);
	fd = ai_open();
	a = ai_get_mapped(fd, 1 << 20);
	EXPECT(all_bytes((void *)(uintptr_t)a.address, a.bytes, 0), "not zeroed");
	memset((void *)(uintptr_t)a.address, 0x99, a.bytes);
	EXPECT(write(pipes[1], &byte, 1) == 1, "pipe");
	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "child ended with 0x%x", status);
	munmap((void *)(uintptr_t)a.address, a.bytes);
	close(fd);
	EXPECT(ai_held_at_most(&before, 1000), "regions are left");
}

/* What other parts of the kernel do with mapped pages. */
static void test_other_users(void)
{
	int fd = ai_open(), pipes[2], file;
	struct ai_alloc a = ai_get_mapped(fd, 2 << 20);
	char *p = (char *)(uintptr_t)a.address, *line = NULL, copy[PAGE];
	struct iovec local = { .iov_base = copy, .iov_len = PAGE };
	struct iovec remote = { .iov_base = p, .iov_len = PAGE };
	unsigned char resident[512];
	size_t room = 0;
	FILE *smaps;

	memset(p, 0x11, a.bytes);
	ASSERT(!pipe(pipes), "pipe");
	EXPECT(write(pipes[1], p, PAGE) == (ssize_t)PAGE, "write: %s", strerror(errno));
	EXPECT(read(pipes[0], p + PAGE, PAGE) == (ssize_t)PAGE, "read: %s", strerror(errno));
	file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	EXPECT(read(file, p + 5 * PAGE, 100 * PAGE) == (ssize_t)(100 * PAGE), "read: %s",
	       strerror(errno));
	EXPECT(all_bytes(p + 5 * PAGE, 100 * PAGE, 0), "read had no effect");

	/* These need struct pages: refused or right, as the kernel likes, but no harm. */
	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)PAGE)
		EXPECT(all_bytes(copy, PAGE, 0x11), "process_vm_readv reads other data");
	if (vmsplice(pipes[1], &remote, 1, 0) > 0)
		EXPECT(read(pipes[0], copy, PAGE) > 0 && copy[0] == 0x11, "vmsplice");
	madvise(p, a.bytes, MADV_DONTNEED);
	EXPECT(p[0] == 0x11, "MADV_DONTNEED loses data");
	madvise(p, a.bytes, MADV_FREE);
	madvise(p, a.bytes, MADV_REMOVE);
	madvise(p, a.bytes, MADV_HUGEPAGE);
	madvise(p, a.bytes, MADV_NOHUGEPAGE);
	madvise(p, a.bytes, MADV_COLD);
	madvise(p, a.bytes, MADV_PAGEOUT);
	madvise(p, a.bytes, MADV_POPULATE_WRITE);
	madvise(p, a.bytes, MADV_COLLAPSE);
	EXPECT(p[0] == 0x11, "madvise loses data");
	mincore(p, a.bytes, resident);
	mlock(p, a.bytes);
	munlock(p, a.bytes);
	msync(p, a.bytes, MS_SYNC);
	EXPECT(p[a.bytes - 1] == 0x11, "data is gone");
	smaps = fopen("/proc/self/smaps", "re");
	while (smaps && getline(&line, &room, smaps) > 0)
		;
	if (smaps)
		fclose(smaps);
	smaps = fopen("/proc/self/numa_maps", "re");
	while (smaps && getline(&line, &room, smaps) > 0)
		;
	EXPECT(mappings(fd, a.la) == 1, "%u mappings", mappings(fd, a.la));
}

/* Large ranges have large pages where they can be had, small ones no fault a page. */
static void test_faults(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get(fd, 8 << 20, AI_DEVICE_SYSTEM, RW);
	volatile char *p = ai_map(fd, &a);
	AI_ARG(ai_region_info, info, .la = a.la);
	unsigned int i;

	for (i = 0; i < a.bytes; i += PAGE)
		p[i] = 1;
	WORKS(fd, AI_REGION_INFO, &info);
	printf("# largest piece of 8 MiB: %u KiB\n", info.largest_folio >> 10);
}

static void *thread_touch(void *arg)
{
	volatile char *p = arg;
	int round, i;

	for (round = 0; round < 20; round++)
		for (i = 0; i < 1024; i++)
			p[i * PAGE + round] = round;
	return NULL;
}

static void test_fault_race(void)
{
	pthread_t threads[4];
	int fd = ai_open(), round, i;

	for (round = 0; round < tap_less(10); round++) {
		struct ai_alloc a = ai_get_mapped(fd, 4 << 20);
		char *p = (char *)(uintptr_t)a.address;

		for (i = 0; i < 4; i++)
			ASSERT(!pthread_create(&threads[i], NULL, thread_touch, p), "no thread");
		/* The handle goes and views come and go while the others touch it. */
		munmap(ai_map(fd, &a), a.bytes);
		ai_free_la(fd, a.la);
		for (i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		EXPECT(p[100 * PAGE + 7] == 7, "data is gone");
		munmap(p, a.bytes);
	}
}

/* Memory of a mapping as an argument of calls: locks are taken in one order only. */
static void test_argument_in_mapping(void)
{
	int fd = ai_open(), i;
	struct ai_alloc a = ai_get_mapped(fd, 4 << 20);
	char *p = (char *)(uintptr_t)a.address;

	for (i = 0; i < 4; i++) {
		struct ai_alloc *arg = (struct ai_alloc *)(p + (i << 20) + 8 * i);
		char *sentence = p + (i << 20) + 2 * PAGE;

		*arg = (struct ai_alloc){
			.hdr = { .size = sizeof(*arg), .error = (uintptr_t)sentence,
				 .error_len = AI_ERROR_LEN },
			.bytes = 100, .perm = RW,
		};
		arg->hdr.flags = AI_ALLOC_MAP;
		EXPECT(!ioctl(fd, AI_ALLOC, arg), "%s: %s", strerror(errno), sentence);
		arg->hdr.flags = 1U << 30;
		EXPECT(ioctl(fd, AI_ALLOC, arg) && errno == EINVAL && sentence[0], "no sentence");
	}
}

static const struct tap_test tests[] = {
	{ "a mapping stays inside its range", test_bad_ranges, 0 },
	{ "a private mapping is never writable", test_private, 0 },
	{ "parts can be mapped", test_partial, 0 },
	{ "a range can be mapped several times", test_several, 0 },
	{ "holes can be unmapped", test_holes, 0 },
	{ "mprotect", test_mprotect, 0 },
	{ "read-only views", test_read_only_view, 0 },
	{ "mremap moves and shrinks, never grows", test_mremap, 0 },
	{ "fork", test_fork, 0 },
	{ "a child keeps what it maps", test_fork_outlives, 0 },
	{ "other users of the pages do no harm", test_other_users, 0 },
	{ "every page can be touched", test_faults, 0 },
	{ "threads touch while the handle goes", test_fault_race, 120 },
	{ "arguments may lie in a mapping", test_argument_in_mapping, 0 },
};

TAP_MAIN(tests)
