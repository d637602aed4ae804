// SPDX-License-Identifier: GPL-2.0-only
/* AI_INFER: calls that work, and their shapes and records. */
#define _GNU_SOURCE
#include "ai_test.h"

#define RW (AI_PERM_READ | AI_PERM_WRITE)

static void test_copy(void)
{
	static const uint32_t devices[] = { SIM_FAST, SIM_MEDIUM, SIM_SLOW, SIM_OTHER };
	unsigned int i;
	int k;

	for (i = 0; i < 4; i++) {
		struct fixture fix;
		AI_ARG(ai_model_info, info);

		fixture_open(&fix, devices[i], MODEL_COPY);
		for (k = 0; k < 16; k++)
			fix.y[k] = -1;
		WORKS(fix.fd, AI_INFER, &fix.call);
		for (k = 0; k < 16; k++)
			EXPECT(fix.y[k] == k + 0.5f, "device %u: output %d is %f", devices[i], k,
			       fix.y[k]);
		EXPECT(!fix.y[16], "writes past the output");
		EXPECT(fix.out.needed == 64, "%llu bytes", (unsigned long long)fix.out.needed);
		EXPECT(fix.out.dtype == AI_DTYPE_FLOAT && fix.out.rank == 2, "dtype %u, rank %u",
		       fix.out.dtype, fix.out.rank);
		EXPECT(fix.out.dims[0] == 1 && fix.out.dims[1] == 16, "shape");
		EXPECT(all_bytes(&fix.out.dims[2], 6 * 8, 0), "dimensions beyond the rank");
		EXPECT(fix.out.la == fix.out_alloc.la && fix.out.bytes == 64 && !fix.out.offset,
		       "changes what it was given");
		info.model = fix.model;
		WORKS(fix.fd, AI_MODEL_INFO, &info);
		EXPECT(info.jobs == 1, "%llu jobs", (unsigned long long)info.jobs);
		close(fix.fd);
	}
}

static void test_null(void)
{
	struct fixture fix;

	fixture_open(&fix, SIM_FAST, MODEL_NULL);
	fix.y[0] = 8;
	fix.y[15] = 9;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.y[0] == 8 && fix.y[15] == 9, "touches data");
	EXPECT(!fix.call.record.bytes_cpu, "%llu bytes copied by the CPU",
	       (unsigned long long)fix.call.record.bytes_cpu);
	EXPECT(!fix.call.record.bytes_dma, "%llu bytes moved",
	       (unsigned long long)fix.call.record.bytes_dma);
}

static void test_record(void)
{
	struct ai_device_info device;
	struct fixture fix;
	struct ai_record *r = &fix.call.record;
	long long before, spent;
	uint64_t last = 0;
	int i;

	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	device = ai_device(fix.fd, SIM_SLOW);
	for (i = 0; i < 3; i++) {
		memset(r, 0xff, sizeof(*r));
		before = now_ns();
		WORKS(fix.fd, AI_INFER, &fix.call);
		spent = now_ns() - before;
		EXPECT(r->job > last, "job %llu after %llu", (unsigned long long)r->job,
		       (unsigned long long)last);
		last = r->job;
		EXPECT(r->run_ns >= (uint64_t)SIM_SLOW_NS, "ran for %llu ns",
		       (unsigned long long)r->run_ns);
		EXPECT((long long)(r->run_ns + r->queue_ns) <= spent, "%llu + %llu ns of %lld",
		       (unsigned long long)r->run_ns, (unsigned long long)r->queue_ns, spent);
		EXPECT(r->device == SIM_SLOW, "device %u", r->device);
		EXPECT(!strcmp(r->device_name, device.name), "device %.16s", r->device_name);
		EXPECT(!strcmp(r->firmware, device.firmware), "firmware %.32s", r->firmware);
		EXPECT(r->generation == device.generation, "generation %u", r->generation);
		EXPECT(!r->flags && !r->reserved && !r->fault_la, "flags 0x%x", r->flags);
		EXPECT(r->bytes_cpu == 64, "%llu bytes copied by op copy",
		       (unsigned long long)r->bytes_cpu);
	}
}

/* Waiting for a device that has all it takes is queue time. */
static void test_queue_time(void)
{
	struct waiter hung[SIM_DEPTH];
	struct fixture fix;
	long long start;
	int i;

	fixture_open(&fix, SIM_FAST, MODEL_NULL);
	sim_set("hang", "%d", SIM_DEPTH);
	start = now_ns();
	for (i = 0; i < SIM_DEPTH; i++) {
		waiter_init(&hung[i], &fix);
		hung[i].fix.call.timeout_ns = start + 300 * MS * tap_slow();
		waiter_start(&hung[i]);
	}
	device_wait_queued(fix.fd, SIM_FAST, SIM_DEPTH);
	start = now_ns();
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.call.record.queue_ns > (uint64_t)(now_ns() - start) * 3 / 4,
	       "waited for %llu of %lld ns", (unsigned long long)fix.call.record.queue_ns,
	       now_ns() - start);
	for (i = 0; i < SIM_DEPTH; i++)
		waiter_join(&hung[i]);
}

static void test_many_tensors(void)
{
	enum { EACH = 64 };
	static struct ai_tensor in[EACH], out[EACH];
	static char text[20000] = "ai-sim-model 1\nop copy\n";
	struct ai_alloc a;
	int fd = ai_open(), i, *p;
	AI_ARG(ai_infer, call, .inputs = (uintptr_t)in, .outputs = (uintptr_t)out,
	       .nr_inputs = EACH, .nr_outputs = EACH);

	for (i = 0; i < EACH; i++)
		sprintf(text + strlen(text), "in a%d 6 %d\nout b%d 6 %d\n", i, i + 1, i, i + 1);
	call.model = ai_load(fd, SIM_FAST, text);
	/* All of them in one range, one after the other, inputs in the first half. */
	a = ai_get_mapped(fd, 2 * EACH * PAGE);
	p = (int *)(uintptr_t)a.address;
	for (i = 0; i < EACH; i++) {
		in[i] = (struct ai_tensor){ .la = a.la, .offset = i * 1000, .bytes = 4 * (i + 1),
					    .dtype = AI_DTYPE_INT32, .rank = 1,
					    .dims = { i + 1 } };
		out[i] = (struct ai_tensor){ .la = a.la + EACH, .offset = i * 1000,
					     .bytes = 1000 };
		p[i * 250 + i] = i + 100;
	}
	WORKS(fd, AI_INFER, &call);
	for (i = 0; i < EACH; i++) {
		int got = p[EACH * 1024 + i * 250 + i];

		EXPECT(got == i + 100, "output %d: %d", i, got);
		EXPECT(out[i].needed == 4ULL * (i + 1) && out[i].rank == 1 &&
		       out[i].dims[0] == (uint64_t)i + 1, "shape of output %d", i);
	}
}

static void test_dynamic(void)
{
	static const char text[] = "ai-sim-model 1\nop copy\nin x 1 -1 4 -1\nout y 1 -1 4 -1\n";
	struct fixture fix;
	uint64_t n, m;
	unsigned int i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.call.model = ai_load(fix.fd, SIM_FAST, text);
	for (i = 0; i < 4096; i++)
		fix.x[i] = i;
	for (n = 1; n < 6; n++) {
		for (m = 1; m < 50; m += 7) {
			fix.in.rank = 3;
			fix.in.dims[0] = n;
			fix.in.dims[1] = 4;
			fix.in.dims[2] = m;
			fix.in.bytes = n * m * 16;
			fix.out.bytes = 4 * PAGE;
			memset(fix.y, 0, 4 * PAGE);
			WORKS(fix.fd, AI_INFER, &fix.call);
			EXPECT(fix.out.needed == n * m * 16 && fix.out.rank == 3 &&
			       fix.out.dims[0] == n && fix.out.dims[1] == 4 &&
			       fix.out.dims[2] == m, "shape %llu x %llu",
			       (unsigned long long)n, (unsigned long long)m);
			EXPECT(!memcmp(fix.x, fix.y, n * m * 16), "data");
			EXPECT(all_bytes((char *)fix.y + n * m * 16, 4 * PAGE - n * m * 16, 0),
			       "writes past what it needs");
			/* One byte too little. */
			fix.out.bytes = n * m * 16 - 4;
			fix.out.needed = 0;
			FAILS(fix.fd, AI_INFER, &fix.call, ENOSPC, NULL);
			EXPECT(fix.out.needed == n * m * 16, "needed %llu, %llu are",
			       (unsigned long long)fix.out.needed, (unsigned long long)n * m * 16);
		}
	}
	/* A fixed dimension stays fixed. */
	fix.in.dims[1] = 5;
	fix.in.bytes = fix.in.dims[0] * 5 * fix.in.dims[2] * 4;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, "5");
}

static void test_any_rank(void)
{
	static const char text[] = "ai-sim-model 1\nop copy\nin x 1 *\nout y 1 *\n";
	struct ai_tensor_info io[2];
	AI_ARG(ai_model_info, info);
	struct fixture fix;
	uint32_t rank, d;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.call.model = ai_load(fix.fd, SIM_FAST, text);
	info.model = fix.call.model;
	info.tensors = (uintptr_t)io;
	info.capacity = 2;
	WORKS(fix.fd, AI_MODEL_INFO, &info);
	EXPECT(io[0].rank == AI_RANK_ANY && io[1].rank == AI_RANK_ANY, "ranks %u and %u",
	       io[0].rank, io[1].rank);
	EXPECT(all_bytes(io[0].dims, sizeof(io[0].dims), 0), "sizes");

	memset(fix.in.dims, 0, sizeof(fix.in.dims));
	for (rank = 0; rank <= AI_MAX_DIMS; rank++) {
		fix.in.rank = rank;
		fix.in.bytes = 4ULL << rank;
		fix.out.bytes = PAGE;
		memset(fix.y, 0, PAGE);
		WORKS(fix.fd, AI_INFER, &fix.call);
		EXPECT(fix.out.rank == rank, "rank %u of %u", fix.out.rank, rank);
		for (d = 0; d < AI_MAX_DIMS; d++)
			EXPECT(fix.out.dims[d] == (d < rank ? 2 : 0), "dimension %u of %u", d, rank);
		EXPECT(!memcmp(fix.x, fix.y, fix.in.bytes), "data");
		if (rank < AI_MAX_DIMS)
			fix.in.dims[rank] = 2;
	}
	fix.in.rank = AI_MAX_DIMS + 1;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, "9");
	fix.in.rank = AI_RANK_ANY;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, NULL);
	/* What is beyond the rank must be 0 here, too. */
	fix.in.rank = 1;
	fix.in.bytes = 8;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, "beyond");
}

static void test_too_small(void)
{
	struct ai_device_info before, after;
	struct fixture fix;
	uint64_t room;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	before = ai_device(fix.fd, SIM_FAST);
	for (room = 4; room < 64; room += 20) {
		fix.out.bytes = room;
		fix.out.needed = 0;
		fix.y[15] = -1;
		FAILS(fix.fd, AI_INFER, &fix.call, ENOSPC, "64");
		EXPECT(fix.out.needed == 64, "needed %llu", (unsigned long long)fix.out.needed);
		EXPECT(fix.y[15] == -1, "writes past the room of %llu bytes",
		       (unsigned long long)room);
	}
	/* No room at all asks for the size. */
	fix.out.bytes = 0;
	fix.out.la = 0;
	fix.out.needed = 0;
	FAILS(fix.fd, AI_INFER, &fix.call, ENOSPC, "64");
	EXPECT(fix.out.needed == 64, "needed %llu", (unsigned long long)fix.out.needed);
	fix.out.la = fix.out_alloc.la;
	fix.out.bytes = fix.out.needed;
	WORKS(fix.fd, AI_INFER, &fix.call);
	/* To ask for the size is neither a success nor a failure. */
	after = ai_device(fix.fd, SIM_FAST);
	EXPECT(after.jobs_failed == before.jobs_failed && after.jobs_done - before.jobs_done == 1,
	       "%llu failed, %llu done",
	       (unsigned long long)(after.jobs_failed - before.jobs_failed),
	       (unsigned long long)(after.jobs_done - before.jobs_done));
}

static void test_scalar(void)
{
	struct fixture fix;
	double *x, *y;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.call.model = ai_load(fix.fd, SIM_FAST, "ai-sim-model 1\nop copy\nin x 11\nout y 11\n");
	x = (double *)fix.x;
	y = (double *)fix.y;
	x[1] = 2.75;
	fix.in = (struct ai_tensor){ .la = fix.in_alloc.la, .offset = 8, .bytes = 8,
				     .dtype = AI_DTYPE_DOUBLE };
	fix.out = (struct ai_tensor){ .la = fix.out_alloc.la, .offset = 16, .bytes = 8, .rank = 5 };
	fix.out.dims[0] = 3;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(y[2] == 2.75, "output %f", y[2]);
	EXPECT(!fix.out.rank && !fix.out.dims[0] && fix.out.needed == 8, "rank %u", fix.out.rank);
	fix.in.rank = 1;
	fix.in.dims[0] = 1;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, NULL);
}

static void test_empty(void)
{
	static const char text[] = "ai-sim-model 1\nop copy\nin x 1 -1 4\nout y 1 -1 4\n";
	struct fixture fix;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	/* A model that says 16 cannot be given none. */
	fix.in.dims[1] = 0;
	fix.in.bytes = 0;
	fix.in.la = 0;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, "0");

	/* One that leaves the number open can. */
	fix.call.model = ai_load(fix.fd, SIM_FAST, text);
	fix.in.dims[0] = 0;
	fix.in.dims[1] = 4;
	fix.out = (struct ai_tensor){ .la = fix.out_alloc.la, .bytes = 64 };
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(!fix.out.needed && fix.out.rank == 2 && !fix.out.dims[0] && fix.out.dims[1] == 4,
	       "%llu bytes, shape %llu x %llu", (unsigned long long)fix.out.needed,
	       (unsigned long long)fix.out.dims[0], (unsigned long long)fix.out.dims[1]);
	fix.out = (struct ai_tensor){ 0 };
	WORKS(fix.fd, AI_INFER, &fix.call);
}

static void test_types(void)
{
	static const uint32_t bytes[] = { 0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2 };
	struct fixture fix;
	uint32_t type;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	for (type = 1; type <= 16; type++) {
		char text[100];

		if (type == AI_DTYPE_STRING)
			continue;
		sprintf(text, "ai-sim-model 1\nop copy\nin x %u 5\nout y %u 5\n", type, type);
		fix.call.model = ai_load(fix.fd, SIM_FAST, text);
		fix.in = (struct ai_tensor){ .la = fix.in_alloc.la, .bytes = 5 * bytes[type],
					     .dtype = type, .rank = 1, .dims = { 5 } };
		fix.out = (struct ai_tensor){ .la = fix.out_alloc.la, .bytes = PAGE };
		WORKS(fix.fd, AI_INFER, &fix.call);
		EXPECT(fix.out.needed == 5 * bytes[type] && fix.out.dtype == type,
		       "type %u takes %llu bytes", type, (unsigned long long)fix.out.needed);
		fix.in.bytes++;
		FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, NULL);
		ai_unload(fix.fd, fix.call.model);
	}
}

static void test_no_inputs(void)
{
	struct fixture fix;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.call.model = ai_load(fix.fd, SIM_FAST, "ai-sim-model 1\nop copy\nout y 1 1 16\n");
	fix.y[3] = 3;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, NULL);
	fix.call.nr_inputs = 0;
	fix.call.inputs = 0;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(all_bytes(fix.y, 64, 0), "output is not cleared");
}

/* A table of offsets, one more than there are strings, then the characters. */
static void test_strings(void)
{
	static const char text[] = "ai-sim-model 1\nop copy\nin x 8 2\nout y 8 2\n";
	struct fixture fix;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.call.model = ai_load(fix.fd, SIM_FAST, text);
	memset(fix.x, 0, 64); /* two empty strings */
	memset(fix.y, 0xff, 64);
	fix.in = (struct ai_tensor){ .la = fix.in_alloc.la, .bytes = 24,
				     .dtype = AI_DTYPE_STRING, .rank = 1, .dims = { 2 } };
	fix.out = (struct ai_tensor){ .la = fix.out_alloc.la, .bytes = 64 };
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.out.needed == 24 && fix.out.dtype == AI_DTYPE_STRING, "%llu bytes",
	       (unsigned long long)fix.out.needed);
	EXPECT(all_bytes(fix.y, 24, 0), "output");
	fix.in.bytes = 23; /* less than the table */
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, "24");
	fix.in.bytes = 40; /* with characters */
	WORKS(fix.fd, AI_INFER, &fix.call);
	fix.in.offset = 4;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, "4");
}

static void test_offsets(void)
{
	struct fixture fix;
	char *x, *y;
	uint64_t offset;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	x = (char *)fix.x;
	y = (char *)fix.y;
	/* Anywhere in the range, also from a later page and across a boundary. */
	for (offset = 0; offset <= 4 * PAGE - 64; offset += 508) {
		uint64_t page = offset / PAGE;

		memset(y, 0, 4 * PAGE);
		memset(x, 0, 4 * PAGE);
		memset(x + offset, 0x3c, 64);
		fix.in.la = fix.in_alloc.la + page;
		fix.in.offset = offset % PAGE;
		fix.out.la = fix.out_alloc.la;
		fix.out.offset = offset;
		WORKS(fix.fd, AI_INFER, &fix.call);
		EXPECT(all_bytes(y + offset, 64, 0x3c) && all_bytes(y, offset, 0) &&
		       all_bytes(y + offset + 64, 4 * PAGE - offset - 64, 0),
		       "offset %llu: data elsewhere", (unsigned long long)offset);
	}
}

static void test_large(void)
{
	static const char text[] = "ai-sim-model 1\nop copy\nin x 2 -1\nout y 2 -1\n";
	size_t bytes = (9 << 20) + 12345;
	struct fixture fix;
	struct ai_alloc in, out;
	unsigned char *x, *y;
	size_t i;

	fixture_open(&fix, SIM_FAST, text);
	in = ai_get_mapped(fix.fd, bytes);
	out = ai_get_mapped(fix.fd, bytes);
	x = (unsigned char *)(uintptr_t)in.address;
	y = (unsigned char *)(uintptr_t)out.address;
	for (i = 0; i < bytes; i++)
		x[i] = i * 31 + (i >> 12);
	fix.in = (struct ai_tensor){ .la = in.la, .bytes = bytes, .dtype = AI_DTYPE_UINT8,
				     .rank = 1, .dims = { bytes } };
	fix.out = (struct ai_tensor){ .la = out.la, .bytes = out.bytes };
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(!memcmp(x, y, bytes), "data");
	EXPECT(all_bytes(y + bytes, out.bytes - bytes, 0), "writes past the output");
	EXPECT(fix.call.record.bytes_cpu == bytes, "%llu bytes copied",
	       (unsigned long long)fix.call.record.bytes_cpu);
}

/* The same range as input and output, and the same tensor twice. */
static void test_in_place(void)
{
	struct fixture fix;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.out.la = fix.in.la;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.x[7] == 7.5f, "data is gone");
	fix.out.offset = 64;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.x[16 + 7] == 7.5f, "data is missing");
}

/* Memory may be freed and unmapped as soon as the call has returned. */
static void test_reuse(void)
{
	struct fixture fix;
	int i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	for (i = 0; i < 200; i++) {
		struct ai_alloc a = ai_get_mapped(fix.fd, PAGE);
		float *p = (float *)(uintptr_t)a.address;

		p[5] = i;
		fix.in.la = a.la;
		WORKS(fix.fd, AI_INFER, &fix.call);
		EXPECT(fix.y[5] == i, "output %f in round %d", fix.y[5], i);
		EXPECT(!ai_free_la(fix.fd, a.la), "%s", ai_sentence);
		munmap(p, PAGE);
	}
}

static void test_throughput(void)
{
	const int jobs = tap_less(20000);
	struct fixture fix;
	long long start;
	int i, bad = 0;

	fixture_open(&fix, SIM_FAST, MODEL_NULL);
	start = now_ns();
	for (i = 0; i < jobs; i++)
		bad += ai_call(fix.fd, AI_INFER, &fix.call) != 0;
	EXPECT(!bad, "%d of %d failed", bad, jobs);
	printf("# %lld ns a job\n", (now_ns() - start) / jobs);
}

static const struct tap_test tests[] = {
	{ "outputs, shapes and counts on every device", test_copy, 0 },
	{ "a null model touches no data", test_null, 0 },
	{ "the record is plausible", test_record, 0 },
	{ "waiting counts as queue time", test_queue_time, 0 },
	{ "64 inputs and 64 outputs", test_many_tensors, 0 },
	{ "dynamic shapes", test_dynamic, 0 },
	{ "any rank", test_any_rank, 0 },
	{ "an output too small says what it needs", test_too_small, 0 },
	{ "scalars", test_scalar, 0 },
	{ "tensors without elements", test_empty, 0 },
	{ "every element type", test_types, 0 },
	{ "a model without inputs", test_no_inputs, 0 },
	{ "strings", test_strings, 0 },
	{ "any page and offset of a range", test_offsets, 0 },
	{ "tensors of 9 MiB", test_large, 0 },
	{ "inputs and outputs in one range", test_in_place, 0 },
	{ "memory is free when the call returns", test_reuse, 0 },
	{ "20000 jobs", test_throughput, 120 },
};

TAP_MAIN(tests)
