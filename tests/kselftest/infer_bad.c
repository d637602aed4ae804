// SPDX-License-Identifier: GPL-2.0-only
/*
 * AI_INFER: calls that are refused, each different from one that works in one
 * field, and each followed by one that works.
 */
#define _GNU_SOURCE
#include "ai_test.h"

#define RW (AI_PERM_READ | AI_PERM_WRITE)

static struct fixture fix;

static void refused(int line, int error, int other, const char *word)
{
	fix.call.record.job = 77;
	ai_fails(__FILE__, line, fix.fd, "AI_INFER", AI_INFER, &fix.call, error, other, word);
	/* None of these becomes a job. */
	tap_expect(!fix.call.record.job || fix.call.record.job == 77, __FILE__, line,
		   "became job %llu", (unsigned long long)fix.call.record.job);
	fixture_reset(&fix);
	ai_works(__FILE__, line, fix.fd, "AI_INFER afterwards", AI_INFER, &fix.call);
	fixture_reset(&fix);
}

#define REFUSED(change, error, word)                     \
	do {                                             \
		change;                                  \
		refused(__LINE__, error, 0, word);       \
	} while (0)
#define REFUSED_EITHER(change, error, other, word)       \
	do {                                             \
		change;                                  \
		refused(__LINE__, error, other, word);   \
	} while (0)

static void setup(void)
{
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
}

static void test_counts(void)
{
	setup();
	REFUSED(fix.call.nr_inputs = 0, EINVAL, "0");
	REFUSED(fix.call.nr_inputs = 2, EINVAL, "2");
	REFUSED(fix.call.nr_inputs = 0xffffffff, EINVAL, "4294967295");
	REFUSED(fix.call.nr_outputs = 0, EINVAL, "0");
	REFUSED(fix.call.nr_outputs = 2, EINVAL, "2");
	REFUSED(fix.call.nr_outputs = 0xffffffff, EINVAL, NULL);
	REFUSED(fix.call.nr_outputs = 0x80000000, EINVAL, NULL);
}

static void test_pointers(void)
{
	char *end = end_of_page();

	setup();
	REFUSED(fix.call.inputs = 0, EFAULT, NULL);
	REFUSED(fix.call.outputs = 0, EFAULT, NULL);
	REFUSED(fix.call.inputs = (uintptr_t)end, EFAULT, NULL);
	REFUSED(fix.call.outputs = (uintptr_t)end, EFAULT, NULL);
	REFUSED(fix.call.inputs = (uintptr_t)end - sizeof(struct ai_tensor) + 1, EFAULT, NULL);
	REFUSED(fix.call.outputs = (uintptr_t)end - sizeof(struct ai_tensor) + 1, EFAULT, NULL);
	REFUSED(fix.call.inputs = ~0ULL, EFAULT, NULL);
	REFUSED(fix.call.outputs = ~0ULL - 7, EFAULT, NULL);
	REFUSED(fix.call.inputs = 0xffff888000000000ULL, EFAULT, NULL);
	REFUSED(fix.call.outputs = 0xffff888000000000ULL, EFAULT, NULL);

	/* Arrays that end with their page are fine. */
	memcpy(end - sizeof(fix.in), &fix.in, sizeof(fix.in));
	fix.call.inputs = (uintptr_t)end - sizeof(fix.in);
	WORKS(fix.fd, AI_INFER, &fix.call);
}

/* Outputs that can be read but not written: the job ran, the call says so. */
static void test_read_only_outputs(void)
{
	char *page = end_of_page() - PAGE;
	int ret;

	setup();
	memcpy(page, &fix.out, sizeof(fix.out));
	mprotect(page, PAGE, PROT_READ);
	fix.call.outputs = (uintptr_t)page;
	ret = ai_call(fix.fd, AI_INFER, &fix.call);
	EXPECT(ret == -EFAULT, "%s", strerror(-ret));
	EXPECT(ai_sentence[0], "no sentence");
	fixture_reset(&fix);
	WORKS(fix.fd, AI_INFER, &fix.call);
}

static void test_types(void)
{
	uint32_t type;

	setup();
	for (type = 0; type < 20; type++)
		if (type != AI_DTYPE_FLOAT)
			REFUSED(fix.in.dtype = type, EINVAL, NULL);
	REFUSED(fix.in.dtype = 0x80000001, EINVAL, NULL);
	REFUSED(fix.in.dtype = 0xffffffff, EINVAL, NULL);
	REFUSED(fix.in.dtype = 0x101, EINVAL, "257");
}

static void test_shapes(void)
{
	unsigned int d;

	setup();
	REFUSED(fix.in.rank = 0, EINVAL, "0");
	REFUSED(fix.in.rank = 1, EINVAL, "1");
	REFUSED(fix.in.rank = 3, EINVAL, "3");
	REFUSED(fix.in.rank = AI_MAX_DIMS, EINVAL, NULL);
	REFUSED(fix.in.rank = AI_MAX_DIMS + 1, EINVAL, NULL);
	REFUSED(fix.in.rank = 0xffffffff, EINVAL, NULL);
	REFUSED(fix.in.dims[0] = 2, EINVAL, "2");
	REFUSED(fix.in.dims[1] = 15, EINVAL, "15");
	REFUSED(fix.in.dims[1] = 17, EINVAL, "17");
	REFUSED(fix.in.dims[0] = ~0ULL, EINVAL, NULL); /* -1 is for the model to say */
	REFUSED((fix.in.dims[0] = 16, fix.in.dims[1] = 1), EINVAL, NULL);
	for (d = 2; d < AI_MAX_DIMS; d++)
		REFUSED(fix.in.dims[d] = 1, EINVAL, "1");
}

static void test_bytes(void)
{
	setup();
	REFUSED(fix.in.bytes = 0, EINVAL, NULL);
	REFUSED(fix.in.bytes = 63, EINVAL, "63");
	REFUSED(fix.in.bytes = 65, EINVAL, "65");
	REFUSED(fix.in.bytes = 60, EINVAL, "64");
	REFUSED(fix.in.bytes = 1ULL << 32 | 64, EINVAL, NULL);
	REFUSED(fix.in.bytes = ~0ULL, EINVAL, NULL);
	/* An output may be larger than needed, but not than its range. */
	fix.out.bytes = 4 * PAGE;
	WORKS(fix.fd, AI_INFER, &fix.call);
	REFUSED(fix.out.bytes = 4 * PAGE + 1, EINVAL, "16385");
	REFUSED(fix.out.bytes = ~0ULL, EINVAL, NULL);
	REFUSED(fix.out.bytes = 1ULL << 63, EINVAL, NULL);
}

static void test_offsets(void)
{
	setup();
	REFUSED(fix.in.offset = 1, EINVAL, "1");
	REFUSED(fix.in.offset = 2, EINVAL, "2");
	REFUSED(fix.in.offset = 3, EINVAL, "3");
	REFUSED(fix.out.offset = 1, EINVAL, "1");
	REFUSED(fix.out.offset = 6, EINVAL, "6");
	REFUSED(fix.in.offset = 4 * PAGE - 60, EINVAL, NULL);
	REFUSED(fix.in.offset = 4 * PAGE, EINVAL, NULL);
	REFUSED(fix.out.offset = 4 * PAGE - 60, EINVAL, NULL);
	REFUSED((fix.in.la++, fix.in.offset = 3 * PAGE), EINVAL, NULL);
	REFUSED(fix.in.offset = ~0ULL - 3, EINVAL, NULL);
	REFUSED(fix.in.offset = ~0ULL - 63, EINVAL, NULL); /* the end is 0 */
	REFUSED(fix.out.offset = ~0ULL - 63, EINVAL, NULL);
	REFUSED(fix.in.offset = 1ULL << 63, EINVAL, NULL);
	REFUSED(fix.in.offset = 1ULL << 32, EINVAL, NULL);
	REFUSED((fix.in.la += 3, fix.in.offset = (uint64_t)-4096), EINVAL, NULL);
}

static void test_overflowing_shapes(void)
{
	static const char text[] = "ai-sim-model 1\nin x 1 -1 -1 -1 -1\nout y 1 -1 4\n";
	uint32_t model;
	const uint64_t shapes[][4] = {
		{ 1ULL << 32, 1ULL << 32, 1, 1 }, /* product 2^64 */
		{ 1ULL << 16, 1ULL << 16, 1ULL << 16, 1ULL << 16 },
		{ 1ULL << 62, 1, 1, 1 }, /* product fits, bytes do not */
		{ 1ULL << 61, 1, 1, 1 },
		{ 1ULL << 63, 2, 1, 1 },
		{ ~0ULL, ~0ULL, ~0ULL, ~0ULL },
		{ ~0ULL, 1, 1, 1 },
		{ 0x5555555555555555ULL, 3, 1, 1 },
		{ 0x100000001ULL, 0x100000001ULL, 1, 1 },
		{ 1ULL << 62, 4, 1, 4 }, /* wraps to a small number */
	};
	unsigned int i;

	setup();
	model = ai_load(fix.fd, SIM_FAST, text);
	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const uint64_t *s = shapes[i];

		fix.call.model = model;
		fix.in.rank = 4;
		memcpy(fix.in.dims, s, 4 * sizeof(*s));
		fix.in.bytes = s[0] * s[1] * s[2] * s[3] * 4; /* as a careless caller would */
		if (!fix.in.bytes)
			fix.in.la = 0;
		REFUSED((void)0, EINVAL, NULL);
	}
	/* Nothing to multiply by: a zero anywhere makes it empty. */
	fix.call.model = model;
	fix.in.rank = 4;
	memcpy(fix.in.dims, (uint64_t[]){ 1ULL << 63, 1ULL << 63, 0, 3 }, 32);
	fix.in.bytes = 64;
	REFUSED((void)0, EINVAL, "64");
}

static void test_addresses(void)
{
	struct ai_alloc freed, readable, writable, other;
	int fd;

	setup();
	fd = ai_open();
	other = ai_get(fd, PAGE, AI_DEVICE_SYSTEM, RW);
	freed = ai_get(fix.fd, PAGE, AI_DEVICE_SYSTEM, RW);
	readable = ai_get(fix.fd, PAGE, AI_DEVICE_SYSTEM, AI_PERM_READ);
	writable = ai_get(fix.fd, PAGE, AI_DEVICE_SYSTEM, AI_PERM_WRITE);
	ai_free_la(fix.fd, freed.la);

	REFUSED(fix.in.la = 0, ENOENT, NULL);
	REFUSED(fix.out.la = 0, ENOENT, NULL);
	REFUSED(fix.in.la = freed.la, ENOENT, NULL);
	REFUSED(fix.out.la = freed.la, ENOENT, NULL);
	REFUSED(fix.in.la = ~0ULL, ENOENT, "ffffffffffffffff");
	REFUSED(fix.in.la |= 1ULL << 40, ENOENT, NULL);
	REFUSED(fix.in.la |= 1ULL << 56, ENOENT, NULL);
	REFUSED(fix.in.la = fix.in_alloc.mmap_offset, ENOENT, NULL);
	REFUSED(fix.in.la = fix.in_alloc.address, ENOENT, NULL);
	REFUSED_EITHER(fix.in.la = other.la, EACCES, ENOENT, NULL);
	REFUSED_EITHER(fix.out.la = other.la, EACCES, ENOENT, NULL);
	REFUSED(fix.out.la = readable.la, EACCES, NULL);
	REFUSED(fix.in.la = writable.la, EACCES, NULL);

	/* The permitted ways round work. */
	fix.in.la = readable.la;
	fix.out.la = writable.la;
	WORKS(fix.fd, AI_INFER, &fix.call);
}

/* A range that is still mapped but freed is no memory of a call. */
static void test_freed_but_mapped(void)
{
	struct ai_alloc a;

	setup();
	a = ai_get_mapped(fix.fd, PAGE);
	fix.in.la = a.la;
	WORKS(fix.fd, AI_INFER, &fix.call); /* the device knows it from here on */
	ai_free_la(fix.fd, a.la);
	REFUSED(fix.in.la = a.la, ENOENT, NULL);
	munmap((void *)(uintptr_t)a.address, PAGE);
	REFUSED(fix.out.la = a.la, ENOENT, NULL);
}

static void test_priority(void)
{
	uint32_t priority;

	setup();
	for (priority = 0; priority < 8; priority++) {
		fix.call.priority = priority;
		WORKS(fix.fd, AI_INFER, &fix.call);
	}
	REFUSED(fix.call.priority = 8, EINVAL, "8");
	REFUSED(fix.call.priority = 0x100, EINVAL, NULL);
	REFUSED(fix.call.priority = 0xffffffff, EINVAL, NULL);
}

/* Whoever may starve others needs to be allowed to; asked at the call, not at open(). */
static void test_priority_privilege(void)
{
	pid_t child;
	int status;

	setup();
	child = fork();
	if (!child) {
		ASSERT(!setuid(65534), "%s", strerror(errno));
		fix.call.priority = 3;
		WORKS(fix.fd, AI_INFER, &fix.call);
		REFUSED(fix.call.priority = 4, EPERM, "CAP_SYS_NICE");
		REFUSED(fix.call.priority = 7, EPERM, "CAP_SYS_NICE");
		_exit(0);
	}
	ASSERT(waitpid(child, &status, 0) == child, "%s", strerror(errno));
	EXPECT(!status, "status 0x%x", status);
	fix.call.priority = 7;
	WORKS(fix.fd, AI_INFER, &fix.call);
}

static void test_times(void)
{
	setup();
	REFUSED(fix.call.timeout_ns = -1, EINVAL, "-1");
	REFUSED(fix.call.timeout_ns = INT64_MIN, EINVAL, NULL);
	REFUSED(fix.call.deadline_ns = -1, EINVAL, "-1");
	REFUSED(fix.call.deadline_ns = INT64_MIN, EINVAL, NULL);
	REFUSED(fix.call.timeout_ns = 1, ETIME, NULL);
	REFUSED(fix.call.timeout_ns = now_ns() - 1, ETIME, NULL);
	REFUSED(fix.call.deadline_ns = 1, ETIME, NULL);
	REFUSED(fix.call.deadline_ns = now_ns() - 1, ETIME, NULL);
	fix.call.timeout_ns = INT64_MAX;
	fix.call.deadline_ns = INT64_MAX;
	WORKS(fix.fd, AI_INFER, &fix.call);
	fix.call.timeout_ns = now_ns() + 10 * SEC;
	fix.call.deadline_ns = now_ns() + 10 * SEC;
	WORKS(fix.fd, AI_INFER, &fix.call);
}

/* The second of several tensors is looked at like the first. */
static void test_second_tensor(void)
{
	static const char text[] =
		"ai-sim-model 1\nop copy\nin a 1 4\nin b 6 4\nout c 1 4\nout d 6 4\n";
	struct ai_tensor in[2], out[2];
	uint32_t model;
	int i;

	setup();
	model = ai_load(fix.fd, SIM_FAST, text);
#define AGAIN()                                                                              \
	do {                                                                                 \
		for (i = 0; i < 2; i++) {                                                    \
			in[i] = (struct ai_tensor){ .la = fix.in_alloc.la, .bytes = 16,      \
						    .offset = 16 * i,                        \
						    .dtype = i ? AI_DTYPE_INT32              \
							       : AI_DTYPE_FLOAT,             \
						    .rank = 1, .dims = { 4 } };              \
			out[i] = (struct ai_tensor){ .la = fix.out_alloc.la, .bytes = 16,    \
						     .offset = 16 * i };                     \
		}                                                                            \
		fixture_reset(&fix);                                                         \
		fix.call.model = model;                                                      \
		fix.call.inputs = (uintptr_t)in;                                             \
		fix.call.outputs = (uintptr_t)out;                                           \
		fix.call.nr_inputs = fix.call.nr_outputs = 2;                                \
	} while (0)

	AGAIN();
	WORKS(fix.fd, AI_INFER, &fix.call);
	AGAIN();
	REFUSED(in[1].dtype = AI_DTYPE_FLOAT, EINVAL, "b");
	AGAIN();
	REFUSED(in[1].la = 0x123456, ENOENT, "123456");
	AGAIN();
	REFUSED(out[1].la = 0x123456, ENOENT, "123456");
	AGAIN();
	REFUSED(in[1].dims[0] = 5, EINVAL, "5");
	AGAIN();
	out[1].bytes = 8;
	FAILS(fix.fd, AI_INFER, &fix.call, ENOSPC, NULL);
	EXPECT(out[0].needed == 16 && out[1].needed == 16, "needed %llu and %llu",
	       (unsigned long long)out[0].needed, (unsigned long long)out[1].needed);
}

/* Another thread changes the call while it is read: every answer is one of the two. */
static volatile int race_over;

static void *thread_flip(void *arg)
{
	struct fixture *f = arg;
	volatile struct ai_tensor *in = &f->in, *out = &f->out;

	while (!race_over) {
		in->bytes = 64;
		in->dims[1] = 16;
		out->la = f->out_alloc.la;
		in->offset = 0;
		in->offset = ~0ULL - 63;
		out->la = ~0ULL;
		in->dims[1] = 1ULL << 62;
		in->bytes = 1ULL << 40;
		f->call.nr_inputs = 3;
		f->call.nr_inputs = 1;
	}
	return NULL;
}

static void test_double_fetch(void)
{
	pthread_t thread;
	int i;

	setup();
	ASSERT(!pthread_create(&thread, NULL, thread_flip, &fix), "no thread");
	for (i = 0; i < tap_less(20000); i++) {
		int ret = ai_call(fix.fd, AI_INFER, &fix.call);

		EXPECT(!ret || ret == -EINVAL || ret == -ENOENT, "%s: %s", strerror(-ret),
		       ai_sentence);
	}
	race_over = 1;
	pthread_join(thread, NULL);
	EXPECT(fix.y[3] == 0 || fix.y[3] == 3.5f, "output %f", fix.y[3]);
}

static const struct tap_test tests[] = {
	{ "wrong number of tensors", test_counts, 0 },
	{ "bad pointers", test_pointers, 0 },
	{ "outputs that cannot be described", test_read_only_outputs, 0 },
	{ "wrong element type", test_types, 0 },
	{ "wrong shape", test_shapes, 0 },
	{ "wrong number of bytes", test_bytes, 0 },
	{ "bad offsets", test_offsets, 0 },
	{ "shapes that overflow", test_overflowing_shapes, 0 },
	{ "bad addresses and permissions", test_addresses, 0 },
	{ "freed but mapped memory", test_freed_but_mapped, 0 },
	{ "priorities", test_priority, 0 },
	{ "high priorities need CAP_SYS_NICE", test_priority_privilege, 0 },
	{ "times that are none or have passed", test_times, 0 },
	{ "the second tensor", test_second_tensor, 0 },
	{ "a call that changes while it is read", test_double_fetch, 120 },
};

TAP_MAIN(tests)
