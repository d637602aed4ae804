// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random calls, right and wrong, from many threads at once. Nothing is asked of
 * an answer but that it is one of those documented; the kernel log is looked at
 * by whoever runs this. AI_TEST_SECONDS sets how long each test goes on, AI_SEED
 * where it begins.
 */
#define _GNU_SOURCE
#include "ai_test.h"

#define THREADS 8
#define RW (AI_PERM_READ | AI_PERM_WRITE)

struct state {
	int fd;
	uint64_t seed;
	uint64_t la[16];
	uint64_t offset[16];
	struct {
		char *p;
		size_t bytes;
	} maps[8];
	uint32_t models[8];
	unsigned int calls, good;
};

static long long stop_at;
static int shared_fd;

static uint64_t dice(struct state *s, uint64_t sides)
{
	return random_next(&s->seed) % sides;
}

static bool often(struct state *s)
{
	return dice(s, 8) != 0;
}

/* A number that is likely to hurt. */
static uint64_t odd(struct state *s)
{
	static const uint64_t list[] = {
		0, 1, 2, 3, 4, 7, 8, 63, 64, 65, 127, 128, 255, 256, 4095, 4096, 4097, 65536,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000ULL, 1ULL << 40, 1ULL << 56,
		1ULL << 62, 1ULL << 63, ~0ULL, ~0ULL - 4095, 0x7fffffffffffffffULL,
		0xffff888000000000ULL,
	};

	if (dice(s, 3))
		return list[dice(s, ARRAY_SIZE(list))];
	return random_next(&s->seed) >> dice(s, 64);
}

/* Small or impossible: what a machine may really have would starve the others. */
static uint64_t odd_size(struct state *s)
{
	uint64_t size = odd(s);

	return size > 1 << 22 && size < 1ULL << 36 ? 1 : size;
}

static uint32_t some_device(struct state *s)
{
	static const uint32_t list[] = { SIM_FAST, SIM_MEDIUM, SIM_OTHER, AI_DEVICE_ANY };

	return often(s) ? list[dice(s, 4)] : (uint32_t)odd(s);
}

static uint64_t some_la(struct state *s)
{
	return often(s) ? s->la[dice(s, 16)] + (dice(s, 4) ? 0 : dice(s, 3)) : odd(s);
}

static uint32_t some_model(struct state *s)
{
	return often(s) ? s->models[dice(s, 8)] : (uint32_t)odd(s);
}

/* One byte of the argument changes now and then. */
static int call(struct state *s, unsigned long cmd, void *arg, size_t size)
{
	struct ai_hdr *hdr = arg;
	int ret;

	if (!dice(s, 30))
		((char *)arg)[dice(s, size)] ^= 1 << dice(s, 8);
	if (!dice(s, 50))
		hdr->size = odd(s);
	/* The sentence must not go just anywhere. */
	hdr->error = dice(s, 20) ? (uintptr_t)ai_sentence : 0;
	hdr->error_len = sizeof(ai_sentence);
	ret = ioctl(s->fd, cmd, arg) ? errno : 0;
	s->calls++;
	s->good += !ret;
	switch (ret) {
	case 0:
	case EINVAL:
	case E2BIG:
	case EFAULT:
	case ENOENT:
	case EACCES:
	case ENOSPC:
	case ENOMEM:
	case EFBIG:
	case EEXIST:
	case EBUSY:
	case EAGAIN:
	case EBADMSG:
	case EOPNOTSUPP:
	case ENODEV:
	case EIO:
	case ETIME:
	case ECANCELED:
		break;
	default:
		EXPECT(false, "command 0x%lx: %s", cmd, strerror(ret));
	}
	return ret;
}

#define CALL(s, cmd, arg) call(s, cmd, &(arg), sizeof(arg))

static void do_alloc(struct state *s)
{
	AI_ARG(ai_alloc, arg, .perm = RW);
	unsigned int slot = dice(s, 16);

	arg.bytes = often(s) ? 1 + dice(s, 1 << (12 + dice(s, 9))) : odd_size(s);
	arg.device = dice(s, 3) ? AI_DEVICE_SYSTEM : some_device(s);
	if (!often(s))
		arg.perm = odd(s);
	if (!often(s))
		arg.cache = odd(s);
	if (!CALL(s, AI_ALLOC, arg)) {
		AI_ARG(ai_free, old, .la = s->la[slot]);

		CALL(s, AI_FREE, old);
		s->la[slot] = arg.la;
		s->offset[slot] = arg.mmap_offset;
	}
}

static void do_free(struct state *s)
{
	AI_ARG(ai_free, arg, .la = some_la(s));

	CALL(s, AI_FREE, arg);
}

static void do_region_info(struct state *s)
{
	AI_ARG(ai_region_info, arg, .la = some_la(s));

	CALL(s, AI_REGION_INFO, arg);
}

static void do_map(struct state *s)
{
	unsigned int slot = dice(s, 8);
	size_t bytes = (1 + dice(s, 600)) * PAGE;
	uint64_t offset = s->offset[dice(s, 16)] + (dice(s, 3) ? 0 : dice(s, 20) * PAGE);
	volatile char *p;

	if (s->maps[slot].p)
		munmap(s->maps[slot].p, s->maps[slot].bytes);
	s->maps[slot].p = NULL;
	p = mmap64(NULL, bytes, PROT_READ | (dice(s, 4) ? PROT_WRITE : 0),
		   dice(s, 20) ? MAP_SHARED : MAP_PRIVATE, s->fd, offset & ~(PAGE - 1));
	if (p == MAP_FAILED)
		return;
	s->maps[slot].p = (char *)p;
	s->maps[slot].bytes = bytes;
	can_write(p);
	can_read(p + bytes - 1);
	if (!dice(s, 4))
		munmap((void *)(p + dice(s, bytes / PAGE) * PAGE), PAGE);
}

static void do_load(struct state *s)
{
	static const char *const texts[] = {
		MODEL_COPY, MODEL_NULL, "ai-sim-model 1\nop copy\nin x 1 -1 4\nout y 1 -1 4\n",
		"ai-sim-model 1\ncompile_ms 5\nin x 1 1 16\nout y 1 1 16\n",
		"ai-sim-model 1\nin x 99 1\nout y 1 1\n", "nonsense",
	};
	const char *text = texts[dice(s, 6)];
	unsigned int slot = dice(s, 8);
	AI_ARG(ai_model_load, arg, .data = (uintptr_t)text, .bytes = strlen(text),
	       .device = some_device(s), .format = AI_FORMAT_ONNX, .name = "stress");

	arg.hdr.flags = dice(s, 2);
	if (!often(s))
		arg.bytes = odd_size(s);
	if (!often(s))
		arg.version = odd(s);
	if (!often(s))
		arg.timeout_ns = dice(s, 2) ? odd(s) : (uint64_t)now_ns() + dice(s, 10 * MS);
	if (!CALL(s, AI_MODEL_LOAD, arg)) {
		AI_ARG(ai_model_unload, old, .model = s->models[slot]);

		CALL(s, AI_MODEL_UNLOAD, old);
		s->models[slot] = arg.model;
	}
}

static void do_model_info(struct state *s)
{
	struct ai_tensor_info io[4];
	AI_ARG(ai_model_info, arg, .model = some_model(s), .tensors = (uintptr_t)io,
	       .capacity = dice(s, 5));

	CALL(s, AI_MODEL_INFO, arg);
}

static void do_unload(struct state *s)
{
	AI_ARG(ai_model_unload, arg, .model = some_model(s));

	CALL(s, AI_MODEL_UNLOAD, arg);
}

static void do_infer(struct state *s)
{
	struct ai_tensor in = { .la = some_la(s), .bytes = 64, .dtype = AI_DTYPE_FLOAT, .rank = 2,
				.dims = { 1, 16 } };
	struct ai_tensor out = { .la = some_la(s), .bytes = 64 };
	AI_ARG(ai_infer, arg, .inputs = (uintptr_t)&in, .outputs = (uintptr_t)&out,
	       .nr_inputs = 1, .nr_outputs = 1, .model = some_model(s), .cookie = dice(s, 4));
	__u64 *const fields[] = { &in.la, &in.offset, &in.bytes, &in.dims[0], &in.dims[1],
				     &out.la, &out.offset, &out.bytes };

	if (!dice(s, 3))
		*fields[dice(s, 8)] = odd(s);
	if (!dice(s, 4)) {
		in.dims[0] = dice(s, 20);
		in.dims[1] = 4;
		in.bytes = in.dims[0] * 16;
	}
	if (!dice(s, 5))
		arg.timeout_ns = now_ns() + dice(s, 3 * MS);
	if (!dice(s, 5))
		arg.deadline_ns = now_ns() + dice(s, 3 * MS);
	arg.priority = dice(s, 9);
	CALL(s, AI_INFER, arg);
}

static void do_cancel(struct state *s)
{
	AI_ARG(ai_cancel, arg, .cookie = dice(s, 4));

	CALL(s, AI_CANCEL, arg);
}

static void do_info(struct state *s)
{
	AI_ARG(ai_info, info);
	AI_ARG(ai_device_info, device, .device = some_device(s));

	device.hdr.flags = dice(s, 2);
	CALL(s, AI_INFO, info);
	CALL(s, AI_DEVICE_INFO, device);
}

static void do_garbage(struct state *s)
{
	uint64_t arg[80];
	unsigned int i;

	for (i = 0; i < 80; i++)
		arg[i] = odd(s);
	call(s, _IOC(_IOC_READ | _IOC_WRITE, AI_IOC_MAGIC, dice(s, 10), 64), arg, 128);
}

static void do_reopen(struct state *s)
{
	if (s->fd == shared_fd || dice(s, 10))
		return;
	close(s->fd);
	s->fd = ai_open();
}

static void one(struct state *s)
{
	static void (*const actions[])(struct state *s) = {
		do_alloc, do_alloc, do_alloc, do_free, do_free, do_region_info, do_map, do_map,
		do_load, do_model_info, do_unload, do_infer, do_infer, do_infer, do_infer,
		do_infer, do_cancel, do_info, do_garbage, do_reopen,
	};

	actions[dice(s, ARRAY_SIZE(actions))](s);
}

static void *thread_run(void *arg)
{
	struct state *s = arg;

	while (now_ns() < stop_at)
		one(s);
	if (s->fd != shared_fd)
		close(s->fd);
	return NULL;
}

static long long test_ns(void)
{
	const char *seconds = getenv("AI_TEST_SECONDS");

	return (seconds ? atoll(seconds) : 10) * SEC;
}

static uint64_t first_seed(void)
{
	const char *seed = getenv("AI_SEED");

	return seed ? strtoull(seed, NULL, 0) : 0x9e3779b97f4a7c15ULL;
}

static void run(bool shared)
{
	static struct state states[THREADS];
	pthread_t threads[THREADS];
	unsigned int calls = 0, good = 0;
	int i;

	shared_fd = ai_open();
	stop_at = now_ns() + test_ns();
	for (i = 0; i < THREADS; i++) {
		states[i] = (struct state){ .fd = shared ? shared_fd : ai_open(),
					    .seed = first_seed() * (2 * i + 1) };
		ASSERT(!pthread_create(&threads[i], NULL, thread_run, &states[i]), "no thread");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		calls += states[i].calls;
		good += states[i].good;
	}
	printf("# %u calls, %u worked, seed 0x%llx\n", calls, good,
	       (unsigned long long)first_seed());
	EXPECT(good > calls / 20, "only %u of %u calls worked", good, calls);
	shared_fd = -1;
}

static void still_works(void)
{
	struct fixture fix;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(ai_device(fix.fd, SIM_FAST).queued == 0, "jobs are left");
}

static void test_own_files(void)
{
	run(false);
	still_works();
}

static void test_one_file(void)
{
	run(true);
	still_works();
}

static void test_with_failures(void)
{
	pid_t pid = fork();

	if (!pid) {
		run(false);
		_exit(0);
	}
	/* Jobs fail and hang meanwhile; who hangs is killed at the end. */
	stop_at = now_ns() + test_ns();
	while (now_ns() < stop_at) {
		sim_set("fail", "3");
		sim_set("hang", "1");
		sleep_ns(50 * MS);
	}
	sim_reset();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	sleep_ns(100 * MS);
	still_works();
}

static const struct tap_test tests[] = {
	{ "random calls, a file a thread", test_own_files, 180 },
	{ "random calls, one file", test_one_file, 180 },
	{ "random calls while jobs fail and hang", test_with_failures, 180 },
};

TAP_MAIN(tests)
