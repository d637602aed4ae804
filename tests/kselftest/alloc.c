// SPDX-License-Identifier: GPL-2.0-only
/* AI_ALLOC, AI_FREE, AI_REGION_INFO in system memory. */
#define _GNU_SOURCE
#include "ai_test.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define RW (AI_PERM_READ | AI_PERM_WRITE)

static void test_zeroed(void)
{
	const size_t sizes[] = { 1, PAGE, PAGE + 1, 64 << 10, 1 << 20, (2 << 20) + PAGE, 5 << 20,
				 16 << 20 };
	int fd = ai_open();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct ai_alloc a = ai_get(fd, sizes[i], AI_DEVICE_SYSTEM, RW);
		size_t want = (sizes[i] + PAGE - 1) & ~(PAGE - 1);
		char *p;

		EXPECT(a.bytes == want, "%zu became %llu", sizes[i], (unsigned long long)a.bytes);
		EXPECT(a.cache == AI_CACHE_CACHED, "cache %u", a.cache);
		EXPECT(a.la && AI_LA_DEVICE(a.la) == AI_DEVICE_SYSTEM, "la 0x%llx",
		       (unsigned long long)a.la);
		EXPECT(!a.address, "address without AI_ALLOC_MAP");
		p = ai_map(fd, &a);
		EXPECT(all_bytes(p, a.bytes, 0), "%zu bytes are not zeroed", sizes[i]);
		memset(p, 0xaa, a.bytes);
		EXPECT(all_bytes(p, a.bytes, 0xaa), "%zu bytes do not hold what was written",
		       sizes[i]);
		munmap(p, a.bytes);
		EXPECT(!ai_free_la(fd, a.la), "free: %s", ai_sentence);
	}
}

static void test_bad_sizes(void)
{
	int fd = ai_open();
	AI_ARG(ai_info, info);
	AI_ARG(ai_alloc, a, .perm = RW);

	WORKS(fd, AI_INFO, &info);
	a.bytes = 0;
	FAILS(fd, AI_ALLOC, &a, EINVAL, "0");
	a.bytes = info.max_alloc_bytes + 1;
	FAILS(fd, AI_ALLOC, &a, EFBIG, NULL);
	a.bytes = 1ULL << 63;
	FAILS(fd, AI_ALLOC, &a, EFBIG, "9223372036854775808");
	a.bytes = ~0ULL;
	FAILS(fd, AI_ALLOC, &a, EFBIG, NULL);
	a.bytes = ~0ULL - PAGE + 2; /* rounds to zero */
	FAILS(fd, AI_ALLOC, &a, EFBIG, NULL);
	a.bytes = (1ULL << 32) * PAGE; /* 2^32 pages */
	FAILS_EITHER(fd, AI_ALLOC, &a, EFBIG, ENOMEM, NULL);
	EXPECT(!a.la, "la written by a call that failed");
}

static void test_too_much(void)
{
	long long total = meminfo_kib("MemTotal") * 1024LL;
	int fd = ai_open();
	AI_ARG(ai_info, info);
	AI_ARG(ai_alloc, a, .perm = RW);

	WORKS(fd, AI_INFO, &info);
	ASSERT(total > 0, "no /proc/meminfo");
	a.bytes = total + (64 << 20);
	FAILS(fd, AI_ALLOC, &a, ENOMEM, NULL);
	a.bytes = info.max_alloc_bytes;
	if (total < (long long)info.max_alloc_bytes)
		FAILS(fd, AI_ALLOC, &a, ENOMEM, NULL);
}

static long vmstat(const char *key)
{
	FILE *file = fopen("/proc/vmstat", "re");
	char name[80];
	long value, found = -1;

	while (file && fscanf(file, "%79s %ld", name, &value) == 2)
		if (!strcmp(name, key))
			found = value;
	if (file)
		fclose(file);
	return found;
}

/* More than is free, less than there is: refused, and nobody is killed for it. */
static void test_no_killing(void)
{
	long long total = meminfo_kib("MemTotal") * 1024LL;
	long before = vmstat("oom_kill");
	int fd = ai_open();
	AI_ARG(ai_alloc, a, .perm = RW);
	int ret;

	a.bytes = total - total / 64;
	ret = ai_call(fd, AI_ALLOC, &a);
	EXPECT(ret == -ENOMEM, "%lld of %lld bytes: %s", (long long)a.bytes, total, strerror(-ret));
	EXPECT(vmstat("oom_kill") == before, "a process was killed");
	a.bytes = 1 << 20;
	WORKS(fd, AI_ALLOC, &a);
}

static void test_bad_fields(void)
{
	int fd = ai_open();
	AI_ARG(ai_alloc, good, .bytes = PAGE, .perm = RW);
	struct ai_alloc a;
	unsigned int bit;

	WORKS(fd, AI_ALLOC, &good);
	good.bytes = PAGE;
	good.la = good.mmap_offset = good.address = good.cache = 0;

	a = good;
	a.perm = 0;
	FAILS(fd, AI_ALLOC, &a, EINVAL, "perm");
	for (bit = 2; bit < 32; bit++) {
		a.perm = RW | 1U << bit;
		FAILS(fd, AI_ALLOC, &a, EINVAL, "perm");
	}
	a = good;
	a.cache = 3;
	FAILS(fd, AI_ALLOC, &a, EINVAL, "3");
	a.cache = 0xffffffff;
	FAILS(fd, AI_ALLOC, &a, EINVAL, NULL);
	a.cache = AI_CACHE_WRITECOMBINE;
	FAILS(fd, AI_ALLOC, &a, EOPNOTSUPP, NULL);
	a = good;
	a.device = AI_DEVICE(AI_CLASS_NPU, 63);
	FAILS(fd, AI_ALLOC, &a, ENOENT, "191");
	a.device = AI_MAX_DEVICES;
	FAILS_EITHER(fd, AI_ALLOC, &a, ENOENT, EINVAL, "256");
	a.device = AI_DEVICE_ANY;
	FAILS_EITHER(fd, AI_ALLOC, &a, ENOENT, EINVAL, NULL);
	a = good;
	a.cache = AI_CACHE_CACHED;
	WORKS(fd, AI_ALLOC, &a);
}

static void test_perm(void)
{
	const uint32_t perms[] = { AI_PERM_READ, AI_PERM_WRITE, RW };
	int fd = ai_open();
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct ai_alloc a = ai_get(fd, PAGE, AI_DEVICE_SYSTEM, perms[i]);
		AI_ARG(ai_region_info, info, .la = a.la);
		char *p;

		WORKS(fd, AI_REGION_INFO, &info);
		EXPECT(info.perm == perms[i], "perm %u became %u", perms[i], info.perm);
		/* Permissions are those of devices: the CPU may do both. */
		p = ai_map(fd, &a);
		p[0] = 1;
		EXPECT(p[0] == 1, "no memory");
	}
}

static void test_region_info(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get(fd, 5 * PAGE, AI_DEVICE_SYSTEM, RW);
	AI_ARG(ai_region_info, info);
	unsigned int page;
	char *p, *q;

	for (page = 0; page < 5; page++) {
		info.la = a.la + page;
		memset(&info.bytes, 0xff, sizeof(info) - offsetof(struct ai_region_info, bytes));
		WORKS(fd, AI_REGION_INFO, &info);
		EXPECT(info.la == a.la, "page %u: first 0x%llx", page, (unsigned long long)info.la);
		EXPECT(info.bytes == 5 * PAGE && info.mmap_offset == a.mmap_offset &&
		       info.device == AI_DEVICE_SYSTEM && info.perm == RW &&
		       info.cache == AI_CACHE_CACHED, "page %u: another region", page);
		EXPECT(info.refs == 1 && info.mappings == 0, "%u users, %u mappings", info.refs,
		       info.mappings);
		EXPECT(info.largest_folio >= PAGE && info.largest_folio <= 5 * PAGE,
		       "largest piece %u", info.largest_folio);
	}
	p = ai_map(fd, &a);
	q = ai_map(fd, &a);
	WORKS(fd, AI_REGION_INFO, &info);
	EXPECT(info.refs == 3 && info.mappings == 2, "%u users, %u mappings", info.refs,
	       info.mappings);
	munmap(p, 5 * PAGE);
	munmap(q + PAGE, PAGE); /* two pieces are left */
	WORKS(fd, AI_REGION_INFO, &info);
	EXPECT(info.mappings == 2, "%u mappings", info.mappings);
	munmap(q, 5 * PAGE);
	WORKS(fd, AI_REGION_INFO, &info);
	EXPECT(info.refs == 1 && info.mappings == 0, "%u users, %u mappings", info.refs,
	       info.mappings);

	/* Addresses beside it are not it. */
	info.la = a.la - 1;
	FAILS(fd, AI_REGION_INFO, &info, ENOENT, NULL);
	info.la = a.la + 5;
	FAILS(fd, AI_REGION_INFO, &info, ENOENT, NULL);
}

static void test_bad_addresses(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get(fd, 2 * PAGE, AI_DEVICE_SYSTEM, RW);
	const uint64_t bad[] = { 0, 1ULL << 55, ~0ULL, a.la | 1ULL << 56, a.la | 1ULL << 62,
				 a.la | 1ULL << 40, a.mmap_offset | 1 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		AI_ARG(ai_region_info, info, .la = bad[i]);
		AI_ARG(ai_free, arg, .la = bad[i]);
		char word[30];

		snprintf(word, sizeof(word), "%llx", (unsigned long long)bad[i]);
		FAILS(fd, AI_REGION_INFO, &info, ENOENT, word);
		FAILS(fd, AI_FREE, &arg, ENOENT, word);
	}
}

static void test_free(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get(fd, 3 * PAGE, AI_DEVICE_SYSTEM, RW);
	AI_ARG(ai_free, arg, .la = a.la + 1);
	AI_ARG(ai_region_info, info, .la = a.la);

	FAILS(fd, AI_FREE, &arg, EINVAL, NULL); /* not the first page */
	WORKS(fd, AI_REGION_INFO, &info);
	arg.la = a.la;
	WORKS(fd, AI_FREE, &arg);
	FAILS(fd, AI_FREE, &arg, ENOENT, NULL);
	FAILS(fd, AI_REGION_INFO, &info, ENOENT, NULL);
	EXPECT(mmap64(NULL, PAGE, PROT_READ, MAP_SHARED, fd, a.mmap_offset) == MAP_FAILED,
	       "a freed range can be mapped");
}

static void test_free_while_mapped(void)
{
	struct ai_held before, now;
	int fd = ai_open();
	struct ai_alloc a;
	AI_ARG(ai_region_info, info);
	char *p;

	ai_held(&before);
	a = ai_get(fd, 3 << 20, AI_DEVICE_SYSTEM, RW);
	p = ai_map(fd, &a);
	memset(p, 0x33, 1 << 20);
	EXPECT(!ai_free_la(fd, a.la), "%s", ai_sentence);
	memset(p + (1 << 20), 0x44, 1 << 20);
	EXPECT(all_bytes(p, 1 << 20, 0x33) && all_bytes(p + (1 << 20), 1 << 20, 0x44) &&
	       all_bytes(p + (2 << 20), 1 << 20, 0), "the pages went with the handle");
	info.la = a.la;
	FAILS(fd, AI_REGION_INFO, &info, ENOENT, "freed");
	EXPECT(ai_free_la(fd, a.la) == -ENOENT, "freed twice");
	EXPECT(mmap64(NULL, PAGE, PROT_READ, MAP_SHARED, fd, a.mmap_offset) == MAP_FAILED,
	       "a freed range can be mapped again");
	ai_held(&now);
	EXPECT(now.regions == before.regions + 1 || !now.regions, "%ld regions, were %ld",
	       now.regions, before.regions);
	munmap(p, a.bytes);
	EXPECT(ai_held_at_most(&before, 1000), "pages stay after the last mapping");
}

static void test_close_while_mapped(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get_mapped(fd, 1 << 20);
	char *p = (char *)(uintptr_t)a.address;

	memset(p, 0x33, a.bytes);
	close(fd);
	EXPECT(all_bytes(p, a.bytes, 0x33), "the pages went with the file");
	p[5] = 1;
	munmap(p, a.bytes);
}

static void test_map_flag(void)
{
	const size_t sizes[] = { 1, 10 * PAGE, (4 << 20) + 1 };
	int fd = ai_open();
	unsigned int i;

	for (i = 0; i < 3; i++) {
		AI_ARG(ai_alloc, a, .bytes = sizes[i], .perm = RW);
		AI_ARG(ai_region_info, info);
		AI_ARG(ai_free, arg);
		char *p;

		a.hdr.flags = AI_ALLOC_MAP;
		WORKS(fd, AI_ALLOC, &a);
		p = (char *)(uintptr_t)a.address;
		ASSERT(p && !((uintptr_t)p & (PAGE - 1)), "address %p", (void *)p);
		EXPECT(all_bytes(p, a.bytes, 0), "not zeroed");
		p[a.bytes - 1] = 3;
		info.la = a.la;
		WORKS(fd, AI_REGION_INFO, &info);
		EXPECT(info.mappings == 1 && info.refs == 2, "%u mappings, %u users",
		       info.mappings, info.refs);
		arg.la = a.la;
		arg.address = a.address;
		arg.hdr.flags = AI_FREE_UNMAP;
		WORKS(fd, AI_FREE, &arg);
		EXPECT(!can_read(p), "still mapped");
	}
}

/* A call that fails for its address has neither freed nor unmapped anything. */
static void bad_unmap(int fd, uint64_t la, uint64_t address, int line)
{
	AI_ARG(ai_free, arg, .la = la, .address = address);
	AI_ARG(ai_region_info, info, .la = la);
	bool good;

	arg.hdr.flags = AI_FREE_UNMAP;
	good = ai_fails(__FILE__, line, fd, "AI_FREE", AI_FREE, &arg, EINVAL, 0, NULL);
	tap_expect(!good || !ai_call(fd, AI_REGION_INFO, &info), __FILE__, line,
		   "the handle ended with address 0x%llx", (unsigned long long)address);
	if (ai_call(fd, AI_REGION_INFO, &info))
		_exit(1);
}

static void test_unmap_flag(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get_mapped(fd, 4 * PAGE), b = ai_get_mapped(fd, 4 * PAGE);
	AI_ARG(ai_free, arg, .la = a.la, .address = a.address);

	FAILS(fd, AI_FREE, &arg, EINVAL, "address"); /* without the flag */
	bad_unmap(fd, a.la, 0, __LINE__);
	bad_unmap(fd, a.la, a.address + 1, __LINE__);
	bad_unmap(fd, a.la, ~0ULL & ~(uint64_t)(PAGE - 1), __LINE__);
	bad_unmap(fd, a.la, 0x8000000000000000ULL, __LINE__);
	arg.hdr.flags = AI_FREE_UNMAP;
	WORKS(fd, AI_FREE, &arg);
	EXPECT(!can_read((void *)(uintptr_t)a.address), "still mapped");
	EXPECT(can_read((void *)(uintptr_t)b.address), "another range is unmapped");
}

/* It unmaps the range it frees and never what else may be there. */
static void test_unmap_other(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get_mapped(fd, 4 * PAGE), b = ai_get_mapped(fd, 4 * PAGE);
	char *anonymous = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(anonymous != MAP_FAILED, "no memory");
	anonymous[0] = 1;
	bad_unmap(fd, a.la, (uintptr_t)anonymous, __LINE__);
	EXPECT(can_read(anonymous), "other memory is unmapped");
	bad_unmap(fd, a.la, b.address, __LINE__);
	EXPECT(can_read((void *)(uintptr_t)b.address), "another range is unmapped");
	bad_unmap(fd, a.la, a.address - PAGE, __LINE__);
	bad_unmap(fd, a.la, a.address + PAGE, __LINE__);
	munmap((void *)(uintptr_t)(a.address + 3 * PAGE), PAGE);
	bad_unmap(fd, a.la, a.address, __LINE__); /* not the whole range any more */
}

static void test_no_address_space(void)
{
	struct rlimit limit = { 64 << 20, 64 << 20 };
	struct ai_held before;
	int fd = ai_open();
	AI_ARG(ai_alloc, a, .bytes = 128 << 20, .perm = RW);

	ai_held(&before);
	a.hdr.flags = AI_ALLOC_MAP;
	ASSERT(!setrlimit(RLIMIT_AS, &limit), "setrlimit: %s", strerror(errno));
	FAILS(fd, AI_ALLOC, &a, ENOMEM, NULL);
	EXPECT(ai_held_at_most(&before, 1000), "a region is left");
	a.bytes = PAGE;
	WORKS(fd, AI_ALLOC, &a);
}

static void test_never_seen_again(void)
{
	int fd = ai_open(), round, i;

	for (round = 0; round < 12; round++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			int file = ai_open();

			/* Whoever had the pages before wrote this into all of them. */
			for (i = 0; i < 8; i++) {
				size_t bytes = round % 3 ? 1 << 20 : (i + 1) * PAGE;
				struct ai_alloc a = ai_get_mapped(file, bytes);
				char *p = (char *)(uintptr_t)a.address;

				EXPECT(all_bytes(p, a.bytes, 0), "round %d: not zeroed", round);
				memset(p, 0xc3, a.bytes);
				if (i & 1) {
					ai_free_la(file, a.la);
					munmap(p, a.bytes);
				}
			}
			_exit(0); /* the rest is freed by dying */
		}
		waitpid(pid, &status, 0);
		EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status 0x%x", status);
	}
	close(fd);
}

static void test_many(void)
{
	static uint64_t la[10000];
	const int many = tap_less(10000);
	uint64_t seed = 88172645463325252ULL;
	struct ai_held before, now;
	int fd = ai_open(), i;

	ai_held(&before);
	for (i = 0; i < many; i++) {
		la[i] = ai_get(fd, PAGE * (1 + i % 3), AI_DEVICE_SYSTEM, RW).la;
		if (i && la[i] == la[i - 1])
			EXPECT(false, "address 0x%llx twice", (unsigned long long)la[i]);
	}
	ai_held(&now);
	EXPECT(!now.regions || now.regions == before.regions + many, "%ld regions, were %ld",
	       now.regions, before.regions);
	for (i = many - 1; i > 0; i--) {
		int k = random_next(&seed) % (i + 1);
		uint64_t swap = la[i];

		la[i] = la[k];
		la[k] = swap;
	}
	for (i = 0; i < many; i++) {
		AI_ARG(ai_region_info, info, .la = la[i]);

		if (i % 10 == 0)
			WORKS(fd, AI_REGION_INFO, &info);
		if (i % 4 && ai_free_la(fd, la[i]))
			EXPECT(false, "free: %s", ai_sentence);
	}
	close(fd); /* a quarter of them goes with the file */
	EXPECT(ai_held_at_most(&before, 5000), "regions are left");
}

/* An address is not given out again at once: a stale one is found out. */
static void test_late_reuse(void)
{
	int fd = ai_open(), i;
	uint64_t first = ai_get(fd, PAGE, AI_DEVICE_SYSTEM, RW).la;

	ai_free_la(fd, first);
	for (i = 0; i < 100; i++) {
		uint64_t la = ai_get(fd, PAGE, AI_DEVICE_SYSTEM, RW).la;

		EXPECT(la != first, "address is back after %d allocations", i);
		ai_free_la(fd, la);
	}
}

#define CGROUPS "/tmp/kselftest-cgroup"

/* Memory counts as that of whose process allocates it, and is limited with it. */
static void test_cgroup(void)
{
	const char *const group = CGROUPS "/ai";
	int status;
	pid_t pid;

	mkdir(CGROUPS, 0700);
	if (mount("cgroup2", CGROUPS, "cgroup2", 0, NULL))
		SKIP("no cgroups: %s", strerror(errno));
	if (!file_write(CGROUPS "/cgroup.subtree_control", "+memory") || mkdir(group, 0700) ||
	    !file_write(CGROUPS "/ai/memory.max", "33554432")) {
		rmdir(group);
		umount2(CGROUPS, MNT_DETACH);
		SKIP("no memory controller");
	}
	file_write(CGROUPS "/ai/memory.swap.max", "0");
	pid = fork();
	if (!pid) {
		AI_ARG(ai_alloc, a, .bytes = 64 << 20, .perm = RW);
		long used;
		int fd, ret;

		ASSERT(file_write(CGROUPS "/ai/cgroup.procs", "0"), "%s", strerror(errno));
		fd = ai_open();
		ret = ai_call(fd, AI_ALLOC, &a);
		EXPECT(ret == -ENOMEM, "64 MiB in a group of 32: %s", strerror(-ret));
		ai_get(fd, 16 << 20, AI_DEVICE_SYSTEM, RW);
		used = file_number(CGROUPS "/ai/memory.current", -1);
		EXPECT(used >= 16 << 20, "%ld bytes are charged", used);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status 0x%x", status);
	rmdir(group);
	umount2(CGROUPS, MNT_DETACH);
	rmdir(CGROUPS);
}

static void *thread_alloc(void *arg)
{
	int fd = *(int *)arg, i;

	for (i = 0; i < tap_less(300); i++) {
		struct ai_alloc a = ai_get_mapped(fd, PAGE * (1 + i % 20));
		char *p = (char *)(uintptr_t)a.address;

		EXPECT(all_bytes(p, a.bytes, 0), "not zeroed");
		memset(p, i, a.bytes);
		EXPECT(!ai_free_la(fd, a.la), "free: %s", ai_sentence);
		EXPECT(all_bytes(p, a.bytes, i), "somebody else's data");
		munmap(p, a.bytes);
	}
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[8];
	int fd = ai_open(), i;

	for (i = 0; i < 8; i++)
		ASSERT(!pthread_create(&threads[i], NULL, thread_alloc, &fd), "no thread");
	for (i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

static uint64_t race_la;
static int race_fd, race_freed;

static void *thread_free(void *arg)
{
	(void)arg;
	if (!ai_free_la(race_fd, race_la))
		__atomic_fetch_add(&race_freed, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void test_free_race(void)
{
	pthread_t threads[4];
	int round, i;

	race_fd = ai_open();
	for (round = 0; round < 100; round++) {
		race_la = ai_get(race_fd, PAGE, AI_DEVICE_SYSTEM, RW).la;
		race_freed = 0;
		for (i = 0; i < 4; i++)
			ASSERT(!pthread_create(&threads[i], NULL, thread_free, NULL), "no thread");
		for (i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		EXPECT(race_freed == 1, "freed %d times", race_freed);
	}
}

static const struct tap_test tests[] = {
	{ "memory is zeroed, rounded up and keeps its data", test_zeroed, 0 },
	{ "impossible sizes are refused", test_bad_sizes, 0 },
	{ "more than the system has is ENOMEM", test_too_much, 0 },
	{ "more than is free is ENOMEM and kills nobody", test_no_killing, 120 },
	{ "bad permissions, caches and devices are refused", test_bad_fields, 0 },
	{ "permissions are kept", test_perm, 0 },
	{ "a region is described from any of its pages", test_region_info, 0 },
	{ "addresses that are none are ENOENT", test_bad_addresses, 0 },
	{ "a freed address is gone", test_free, 0 },
	{ "pages live as long as a mapping", test_free_while_mapped, 0 },
	{ "pages outlive the file", test_close_while_mapped, 0 },
	{ "AI_ALLOC_MAP maps", test_map_flag, 0 },
	{ "AI_FREE_UNMAP checks its address", test_unmap_flag, 0 },
	{ "AI_FREE_UNMAP unmaps only what it frees", test_unmap_other, 0 },
	{ "AI_ALLOC_MAP without address space frees again", test_no_address_space, 0 },
	{ "nobody sees what the owner before wrote", test_never_seen_again, 0 },
	{ "memory is charged to a cgroup", test_cgroup, 0 },
	{ "10000 regions", test_many, 180 },
	{ "addresses come back late", test_late_reuse, 0 },
	{ "threads allocate and free", test_threads, 120 },
	{ "of four threads that free one region one succeeds", test_free_race, 0 },
};

TAP_MAIN(tests)
