// SPDX-License-Identifier: GPL-2.0-only
/* Memory of a device: allocated from a buddy, mapped, used by jobs, zeroed. */
#define _GNU_SOURCE
#include "ai_test.h"

#define RW (AI_PERM_READ | AI_PERM_WRITE)

/* Mapped by the call itself: a 32-bit process cannot name the offset to mmap(). */
static struct ai_alloc device_memory(int fd, uint32_t device, uint64_t bytes)
{
	AI_ARG(ai_alloc, a, .bytes = bytes, .device = device, .perm = RW);
	int ret;

	a.hdr.flags = AI_ALLOC_MAP;
	ret = ai_call(fd, AI_ALLOC, &a);
	ASSERT(!ret, "%llu bytes of device %u: %s: %s", (unsigned long long)bytes, device,
	       strerror(-ret), ai_sentence);
	return a;
}

static void test_basic(void)
{
	int fd = ai_open();
	struct ai_device_info before = ai_device(fd, SIM_MEDIUM);
	struct ai_alloc a = device_memory(fd, SIM_MEDIUM, 3 * PAGE + 1);
	AI_ARG(ai_region_info, info, .la = a.la + 2);
	char *p = (char *)(uintptr_t)a.address;

	EXPECT(AI_LA_DEVICE(a.la) == SIM_MEDIUM, "home %u", AI_LA_DEVICE(a.la));
	EXPECT(a.bytes == 4 * PAGE, "%llu bytes", (unsigned long long)a.bytes);
	EXPECT(a.cache == AI_CACHE_CACHED || a.cache == AI_CACHE_WRITECOMBINE, "cache %u", a.cache);
	EXPECT(all_bytes(p, a.bytes, 0), "not zeroed");
	memset(p, 0x42, a.bytes);
	EXPECT(all_bytes(p, a.bytes, 0x42), "does not hold data");
	WORKS(fd, AI_REGION_INFO, &info);
	EXPECT(info.device == SIM_MEDIUM && info.la == a.la && info.cache == a.cache,
	       "device %u", info.device);
	EXPECT(before.mem_free - ai_device(fd, SIM_MEDIUM).mem_free == 4 * PAGE, "%llu bytes used",
	       (unsigned long long)(before.mem_free - ai_device(fd, SIM_MEDIUM).mem_free));
	EXPECT(!ai_free_la(fd, a.la), "%s", ai_sentence);
	EXPECT(ai_device(fd, SIM_MEDIUM).mem_free < before.mem_free, "free while mapped");
	EXPECT(p[5] == 0x42, "pages went while mapped");
	munmap(p, a.bytes);
	EXPECT(ai_device(fd, SIM_MEDIUM).mem_free == before.mem_free, "memory is lost");
}

static void test_until_full(void)
{
	const size_t sizes[] = { PAGE, 3 * PAGE, 64 << 10, 1 << 20, SIM_MEMORY_BYTES };
	int fd = ai_open();
	struct ai_device_info start = ai_device(fd, SIM_MEDIUM);
	unsigned int i;

	EXPECT(start.mem_free == start.mem_total, "somebody else uses it");
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		static uint64_t la[2000];
		unsigned int n = 0, k, round;

		for (round = 0; round < 2; round++) {
			AI_ARG(ai_alloc, a, .device = SIM_MEDIUM, .perm = RW);
			uint64_t got = 0;
			int ret;

			for (n = 0;; n++) {
				a.bytes = sizes[i];
				ret = ai_call(fd, AI_ALLOC, &a);
				if (ret)
					break;
				la[n] = a.la;
				got += a.bytes;
			}
			EXPECT(ret == -ENOSPC, "%s: %s", strerror(-ret), ai_sentence);
			EXPECT(ai_sentence[0], "no sentence");
			EXPECT(got + 4 * sizes[i] > SIM_MEMORY_BYTES || sizes[i] % (2 * PAGE),
			       "size %zu: full after %llu bytes", sizes[i],
			       (unsigned long long)got);
			EXPECT(ai_device(fd, SIM_MEDIUM).mem_free == start.mem_total - got,
			       "%llu bytes free",
			       (unsigned long long)ai_device(fd, SIM_MEDIUM).mem_free);
			/* Every other one first, so that the pieces lie apart. */
			for (k = 0; k < 2 * n; k++)
				if (k < n ? k & 1 : !((k - n) & 1))
					EXPECT(!ai_free_la(fd, la[k % n]), "%s", ai_sentence);
			EXPECT(ai_device(fd, SIM_MEDIUM).mem_free == start.mem_total,
			       "size %zu: memory is lost", sizes[i]);
		}
	}
}

static void test_too_much(void)
{
	int fd = ai_open();
	AI_ARG(ai_alloc, a, .device = SIM_MEDIUM, .perm = RW);

	a.bytes = SIM_MEMORY_BYTES + 1;
	FAILS(fd, AI_ALLOC, &a, ENOSPC, NULL);
	a.bytes = 1ULL << 33;
	FAILS(fd, AI_ALLOC, &a, ENOSPC, NULL);
	a.bytes = 1ULL << 39;
	FAILS_EITHER(fd, AI_ALLOC, &a, ENOSPC, EFBIG, NULL);
	a.bytes = ~0ULL;
	FAILS(fd, AI_ALLOC, &a, EFBIG, NULL);
	a.bytes = 0;
	FAILS(fd, AI_ALLOC, &a, EINVAL, NULL);
	a.bytes = SIM_MEMORY_BYTES;
	WORKS(fd, AI_ALLOC, &a);
}

/* Whatever was freed comes back zeroed, wherever it comes back. */
static void test_zeroed_again(void)
{
	int fd = ai_open(), round;

	for (round = 0; round < 4; round++) {
		size_t bytes = round & 1 ? 256 << 10 : SIM_MEMORY_BYTES;
		uint64_t rest;

		for (rest = SIM_MEMORY_BYTES; rest >= bytes; rest -= bytes) {
			struct ai_alloc a = device_memory(fd, SIM_MEDIUM, bytes);
			char *p = (char *)(uintptr_t)a.address;

			EXPECT(all_bytes(p, a.bytes, 0), "round %d: not zeroed", round);
			memset(p, 0xd7, a.bytes);
			munmap(p, a.bytes);
		}
		close(fd);
		fd = ai_open();
		while (ai_device(fd, SIM_MEDIUM).mem_free < SIM_MEMORY_BYTES)
			sleep_ns(MS);
	}
}

static void test_jobs(void)
{
	struct fixture fix;
	struct ai_alloc in, out;
	float *x, *y;
	int i;

	fixture_open(&fix, SIM_MEDIUM, MODEL_COPY);
	in = device_memory(fix.fd, SIM_MEDIUM, 2 * PAGE);
	out = device_memory(fix.fd, SIM_MEDIUM, 2 * PAGE);
	x = (float *)(uintptr_t)in.address;
	y = (float *)(uintptr_t)out.address;
	for (i = 0; i < 16; i++)
		x[1020 + i] = i; /* across its pages */
	fix.in.la = in.la;
	fix.in.offset = 1020 * 4;
	fix.out.la = out.la;
	WORKS(fix.fd, AI_INFER, &fix.call);
	for (i = 0; i < 16; i++)
		EXPECT(y[i] == i, "output %d is %f", i, y[i]);
	/* From system memory into device memory and back. */
	fixture_reset(&fix);
	fix.out.la = out.la;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(y[3] == 3.5f, "output is %f", y[3]);
	fixture_reset(&fix);
	fix.in.la = in.la;
	fix.in.offset = 1020 * 4;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.y[9] == 9, "output is %f", fix.y[9]);
}

/* Memory of one device is no memory of another, or is reached by it: no third way. */
static void test_other_device(void)
{
	struct fixture fix;
	struct ai_alloc a;
	int ret;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	a = device_memory(fix.fd, SIM_MEDIUM, PAGE);
	*(float *)(uintptr_t)a.address = 6;
	fix.in.la = a.la;
	ret = ai_call(fix.fd, AI_INFER, &fix.call);
	EXPECT(ret == -EOPNOTSUPP || !ret, "%s: %s", strerror(-ret), ai_sentence);
	if (ret)
		EXPECT(ai_sentence[0], "no sentence");
	else
		EXPECT(fix.y[0] == 6, "output is %f", fix.y[0]);
}

static void test_foreign(void)
{
	int one = ai_open(), two = ai_open();
	struct ai_alloc a = device_memory(one, SIM_MEDIUM, PAGE);
	AI_ARG(ai_region_info, info, .la = a.la);
	AI_ARG(ai_free, arg, .la = a.la);

	FAILS_EITHER(two, AI_REGION_INFO, &info, EACCES, ENOENT, NULL);
	FAILS_EITHER(two, AI_FREE, &arg, EACCES, ENOENT, NULL);
	WORKS(one, AI_FREE, &arg);
}

static void test_mmap_offset(void)
{
#ifdef __LP64__
	int fd = ai_open();
	struct ai_alloc a = ai_get(fd, 8 * PAGE, SIM_MEDIUM, RW);
	char *p = ai_map(fd, &a), *q;

	p[5 * PAGE] = 5;
	q = mmap64(NULL, PAGE, PROT_READ, MAP_SHARED, fd, a.mmap_offset + 5 * PAGE);
	ASSERT(q != MAP_FAILED, "%s", strerror(errno));
	EXPECT(q[0] == 5, "another page");
	EXPECT(mmap64(NULL, 9 * PAGE, PROT_READ, MAP_SHARED, fd, a.mmap_offset) == MAP_FAILED,
	       "maps more than there is");
#else
	SKIP("the offset does not fit a 32-bit mmap(); AI_ALLOC_MAP does");
#endif
}

static void *thread_churn(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 1;
	int fd = ai_open(), i;

	for (i = 0; i < tap_less(200); i++) {
		AI_ARG(ai_alloc, a, .device = SIM_MEDIUM, .perm = RW);
		int ret;

		a.bytes = 1 + random_next(&seed) % (SIM_MEMORY_BYTES / 8);
		a.hdr.flags = AI_ALLOC_MAP;
		ret = ai_call(fd, AI_ALLOC, &a);
		EXPECT(!ret || ret == -ENOSPC, "%s: %s", strerror(-ret), ai_sentence);
		if (!ret) {
			char *p = (char *)(uintptr_t)a.address;

			EXPECT(all_bytes(p, a.bytes, 0), "not zeroed");
			memset(p, i | 1, a.bytes);
			EXPECT(all_bytes(p, a.bytes, i | 1), "somebody else's data");
			munmap(p, a.bytes);
			EXPECT(!ai_free_la(fd, a.la), "%s", ai_sentence);
		}
	}
	close(fd);
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[6];
	int fd = ai_open();
	uintptr_t i;

	for (i = 0; i < 6; i++)
		ASSERT(!pthread_create(&threads[i], NULL, thread_churn, (void *)i), "no thread");
	for (i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	EXPECT(ai_device(fd, SIM_MEDIUM).mem_free == SIM_MEMORY_BYTES, "memory is lost");
}

static const struct tap_test tests[] = {
	{ "device memory is zeroed, mapped, counted", test_basic, 0 },
	{ "device memory can be used up and is not lost", test_until_full, 0 },
	{ "more than the device has is ENOSPC", test_too_much, 0 },
	{ "device memory is zeroed for its next owner", test_zeroed_again, 0 },
	{ "jobs use device memory", test_jobs, 0 },
	{ "memory of another device", test_other_device, 0 },
	{ "memory of another file", test_foreign, 0 },
	{ "mmap of device memory", test_mmap_offset, 0 },
	{ "threads use up device memory", test_threads, 120 },
};

TAP_MAIN(tests)
