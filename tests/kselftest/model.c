// SPDX-License-Identifier: GPL-2.0-only
/* AI_MODEL_LOAD, AI_MODEL_INFO, AI_MODEL_UNLOAD. */
#define _GNU_SOURCE
#include "ai_test.h"

/* A load that works, to be changed in one field. */
static struct ai_model_load good_load(const char *text)
{
	AI_ARG(ai_model_load, arg, .data = (uintptr_t)text, .bytes = strlen(text),
	       .device = SIM_FAST, .format = AI_FORMAT_ONNX, .name = "model");

	return arg;
}

static void test_load(void)
{
	static const char text[] = "ai-sim-model 1\nin x 1 -1 3\nin scale 11\nout y 7 2 3 4\n";
	struct ai_tensor_info io[4];
	int fd = ai_open();
	struct ai_model_load load = good_load(text);
	AI_ARG(ai_model_info, info, .tensors = (uintptr_t)io, .capacity = 4);

	strcpy(load.name, "A name. 0123456789 ~");
	load.device = SIM_FAST;
	WORKS(fd, AI_MODEL_LOAD, &load);
	EXPECT(load.model, "handle 0");
	EXPECT(load.nr_inputs == 2 && load.nr_outputs == 1, "%u inputs, %u outputs",
	       load.nr_inputs, load.nr_outputs);
	EXPECT(load.device == SIM_FAST, "device %u", load.device);
	EXPECT(load.version == 1, "version %u", load.version);
	EXPECT(load.cached <= 1, "cached %u", load.cached);

	memset(io, 0xff, sizeof(io));
	info.model = load.model;
	memset(info.reason, 0xff, sizeof(info.reason));
	WORKS(fd, AI_MODEL_INFO, &info);
	EXPECT(info.state == AI_MODEL_READY, "state %u", info.state);
	EXPECT(info.version == 1 && info.nr_inputs == 2 && info.nr_outputs == 1 &&
	       info.device == SIM_FAST, "another model");
	EXPECT(info.bytes == strlen(text), "%llu bytes", (unsigned long long)info.bytes);
	EXPECT(!strcmp(info.name, load.name), "name %.64s", info.name);
	EXPECT(all_bytes(info.reason, sizeof(info.reason), 0), "a reason: %.256s", info.reason);
	EXPECT(!info.jobs, "%llu jobs", (unsigned long long)info.jobs);
	EXPECT(!strcmp(io[0].name, "x") && io[0].dtype == AI_DTYPE_FLOAT && io[0].rank == 2 &&
	       io[0].dims[0] == -1 && io[0].dims[1] == 3, "first input");
	EXPECT(all_bytes(&io[0].dims[2], 6 * 8, 0), "dimensions beyond the rank");
	EXPECT(!strcmp(io[1].name, "scale") && io[1].dtype == AI_DTYPE_DOUBLE && !io[1].rank,
	       "second input");
	EXPECT(!strcmp(io[2].name, "y") && io[2].dtype == AI_DTYPE_INT64 && io[2].rank == 3 &&
	       io[2].dims[2] == 4, "output");
	EXPECT(all_bytes(&io[3], sizeof(io[3]), 0xff), "writes an element too many");
	EXPECT(!ai_unload(fd, load.model), "%s", ai_sentence);
	FAILS(fd, AI_MODEL_INFO, &info, ENOENT, NULL);
	EXPECT(ai_unload(fd, load.model) == -ENOENT, "unloaded twice");
}

static void test_bad_fields(void)
{
	int fd = ai_open();
	struct ai_model_load arg;
	char *end = end_of_page();
	unsigned int i;

#define REFUSED(change, error, word)                           \
	do {                                                   \
		arg = good_load(MODEL_COPY);                   \
		change;                                        \
		FAILS(fd, AI_MODEL_LOAD, &arg, error, word);   \
		EXPECT(!arg.model, "a handle from a failure"); \
	} while (0)

	REFUSED(arg.format = 0, EOPNOTSUPP, "0");
	REFUSED(arg.format = 2, EOPNOTSUPP, "2");
	REFUSED(arg.format = 0xffffffff, EOPNOTSUPP, NULL);
	REFUSED(arg.bytes = 0, EINVAL, "0");
	REFUSED(arg.data = 0, EFAULT, NULL);
	REFUSED(arg.data = (uintptr_t)end, EFAULT, NULL);
	REFUSED(arg.data = (uintptr_t)end - 4, EFAULT, NULL);
	REFUSED(arg.data = ~0ULL - 3, EFAULT, NULL);
	REFUSED(arg.data = 0xffff888000000000ULL, EFAULT, NULL);
	REFUSED(arg.device = AI_DEVICE(AI_CLASS_NPU, 63), ENOENT, "191");
	REFUSED(arg.device = AI_MAX_DEVICES, ENOENT, "256");
	REFUSED(arg.device = AI_DEVICE_SYSTEM, ENOENT, "0"); /* runs no models */
	REFUSED(arg.timeout_ns = -1, EINVAL, "-1");
	REFUSED(arg.timeout_ns = INT64_MIN, EINVAL, NULL);
	REFUSED(arg.timeout_ns = 1, ETIME, NULL);
	REFUSED(arg.timeout_ns = now_ns() - 1000, ETIME, NULL);
	REFUSED(arg.name[0] = 0, EINVAL, "name");
	REFUSED(memset(arg.name, 'n', AI_NAME_LEN), EINVAL, "name");
	for (i = 1; i < 256; i++)
		if (i < ' ' || i > '~')
			REFUSED(arg.name[3] = i, EINVAL, "name");

	arg = good_load(MODEL_COPY);
	memset(arg.name, 'n', AI_NAME_LEN - 1);
	arg.timeout_ns = now_ns() + 10 * SEC;
	WORKS(fd, AI_MODEL_LOAD, &arg);
	arg = good_load(MODEL_COPY);
	arg.timeout_ns = INT64_MAX;
	WORKS(fd, AI_MODEL_LOAD, &arg);
	arg = good_load(MODEL_COPY);
	memcpy(end - strlen(MODEL_COPY), MODEL_COPY, strlen(MODEL_COPY));
	arg.data = (uintptr_t)end - strlen(MODEL_COPY);
	WORKS(fd, AI_MODEL_LOAD, &arg);
}

static void test_too_large(void)
{
	const uint64_t sizes[] = { AI_MAX_MODEL_BYTES + 1, 1ULL << 32, (1ULL << 32) + 100,
				   1ULL << 40, 1ULL << 63, ~0ULL };
	int fd = ai_open();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct ai_model_load arg = good_load(MODEL_COPY);
		char word[30];

		arg.bytes = sizes[i];
		snprintf(word, sizeof(word), "%llu", (unsigned long long)sizes[i]);
		FAILS(fd, AI_MODEL_LOAD, &arg, EFBIG, word);
	}
}

/* More than 4 GiB that are really there (and cost nothing). */
static void test_four_gib(void)
{
#ifdef __LP64__
	size_t bytes = (4UL << 30) + PAGE;
	struct ai_model_load arg = good_load(MODEL_COPY);
	int fd = ai_open();
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		SKIP("no 4 GiB of address space");
	strcpy(p, MODEL_COPY);
	arg.data = (uintptr_t)p;
	arg.bytes = bytes;
	FAILS(fd, AI_MODEL_LOAD, &arg, EFBIG, NULL);
#else
	SKIP("a 32-bit process has no 4 GiB");
#endif
}

static void test_artefacts(void)
{
	static const char *const bad[] = {
		"x",
		"ai-sim-model",
		"ai-sim-model 1",
		"ai-sim-model 2\nin x 1 4\nout y 1 4\n",
		"ai-sim-model 1\n", /* no output */
		"ai-sim-model 1\nin x 1 4\n",
		"ai-sim-model 1\nin x -1 4\nout y 1 4\n",
		"ai-sim-model 1\nin x 1 a\nout y 1 4\n",
		"ai-sim-model 1\nin x\nout y 1 4\n",
		"ai-sim-model 1\nin x 1 1 1 1 1 1 1 1 1 1\nout y 1 4\n",
		"ai-sim-model 1\nin x 1 99999999999999999999\nout y 1 4\n",
		"ai-sim-model 1\nin x 1 4\nout y 1 4\nsomething else\n",
		"ai-sim-model 1\nop\nin x 1 4\nout y 1 4\n",
		"ai-sim-model 1\nop dance\nin x 1 4\nout y 1 4\n",
	};
	static char many[20000], garbage[9000];
	int fd = ai_open();
	uint64_t seed = 42;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ai_model_load arg = good_load(bad[i]);

		EXPECT(FAILS(fd, AI_MODEL_LOAD, &arg, EBADMSG, NULL), "artefact %u: %s", i, bad[i]);
	}
	for (i = 0; i < sizeof(garbage); i++)
		garbage[i] = random_next(&seed);
	for (i = 1; i < sizeof(garbage); i = i * 3 + 1) {
		struct ai_model_load arg = good_load("");

		arg.data = (uintptr_t)garbage;
		arg.bytes = i;
		FAILS(fd, AI_MODEL_LOAD, &arg, EBADMSG, NULL);
		/* Right at the beginning, then no text. */
		memcpy(garbage, "ai-sim-model 1\n", i < 15 ? i : 15);
		FAILS(fd, AI_MODEL_LOAD, &arg, EBADMSG, NULL);
	}
	/* One tensor too many. */
	strcpy(many, "ai-sim-model 1\nout y 1 4\n");
	for (i = 0; i < AI_MAX_TENSORS; i++)
		sprintf(many + strlen(many), "in x%u 1 4\n", i);
	{
		struct ai_model_load arg = good_load(many);

		WORKS(fd, AI_MODEL_LOAD, &arg);
		EXPECT(arg.nr_inputs == AI_MAX_TENSORS, "%u inputs", arg.nr_inputs);
		strcat(many, "in more 1 4\n");
		arg = good_load(many);
		FAILS(fd, AI_MODEL_LOAD, &arg, EBADMSG, NULL);
	}
}

/* ai_sim passes these on as it finds them: the kernel does not believe a device. */
static void test_impossible_tensors(void)
{
	static const char *const bad[] = {
		"ai-sim-model 1\nin x 99 4\nout y 1 4\n",
		"ai-sim-model 1\nin x 0 4\nout y 1 4\n",
		"ai-sim-model 1\nin x 17 4\nout y 1 4\n",
		"ai-sim-model 1\nin x 4294967295 4\nout y 1 4\n",
		"ai-sim-model 1\nin x 1 -2\nout y 1 4\n",
		"ai-sim-model 1\nin x 1 4\nout y 1 -9223372036854775808\n",
		"ai-sim-model 1\nin x 1 4\nout y 77\n",
	};
	int fd = ai_open();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ai_model_load arg = good_load(bad[i]);

		EXPECT(FAILS_EITHER(fd, AI_MODEL_LOAD, &arg, EIO, EBADMSG, NULL),
		       "artefact %u: %s", i, bad[i]);
	}
}

/* Cut anywhere, an artefact is refused or is a smaller one: nothing else. */
static void test_truncated(void)
{
	static const char text[] = "ai-sim-model 1\nop copy\nin input 1 2 3\nout output 1 2 3\n";
	int fd = ai_open();
	unsigned int i;

	for (i = 1; i < sizeof(text); i++) {
		struct ai_model_load arg = good_load(text);
		int ret;

		arg.bytes = i;
		ret = ai_call(fd, AI_MODEL_LOAD, &arg);
		EXPECT(ret == -EBADMSG || (!ret && i > strlen(text) - 7), "%u bytes: %s", i,
		       strerror(-ret));
		EXPECT(!ret || ai_sentence[0], "%u bytes: no sentence", i);
	}
}

static void test_versions(void)
{
	struct ai_model_load arg = good_load(MODEL_COPY);
	int fd = ai_open(), i;
	uint32_t first;

	WORKS(fd, AI_MODEL_LOAD, &arg);
	EXPECT(arg.version == 1, "version %u", arg.version);
	first = arg.model;

	arg = good_load(MODEL_COPY);
	arg.version = 1;
	FAILS(fd, AI_MODEL_LOAD, &arg, EEXIST, "1");
	arg.device = SIM_OTHER; /* a version is one of the name, wherever it is */
	FAILS(fd, AI_MODEL_LOAD, &arg, EEXIST, NULL);
	strcpy(arg.name, "other");
	WORKS(fd, AI_MODEL_LOAD, &arg);

	arg = good_load(MODEL_COPY);
	arg.version = 10;
	WORKS(fd, AI_MODEL_LOAD, &arg);
	for (i = 11; i < 14; i++) {
		arg = good_load(MODEL_COPY);
		WORKS(fd, AI_MODEL_LOAD, &arg);
		EXPECT(arg.version == (uint32_t)i, "version %u after %d", arg.version, i - 1);
	}
	arg = good_load(MODEL_COPY);
	arg.version = 5;
	WORKS(fd, AI_MODEL_LOAD, &arg);

	/* An unloaded version may come again; others stay. */
	EXPECT(!ai_unload(fd, first), "%s", ai_sentence);
	arg = good_load(MODEL_COPY);
	arg.version = 1;
	WORKS(fd, AI_MODEL_LOAD, &arg);

	/* There is none above the highest number. */
	arg = good_load(MODEL_COPY);
	arg.version = 0xffffffff;
	WORKS(fd, AI_MODEL_LOAD, &arg);
	arg = good_load(MODEL_COPY);
	if (EXPECT(ai_call(fd, AI_MODEL_LOAD, &arg) < 0, "version %u after the highest",
		   arg.version))
		EXPECT(ai_sentence[0], "no sentence");

	/* Names of another file are its own. */
	fd = ai_open();
	arg = good_load(MODEL_COPY);
	arg.version = 10;
	WORKS(fd, AI_MODEL_LOAD, &arg);
}

static void test_versions_side_by_side(void)
{
	struct fixture one, two;
	uint32_t other;

	fixture_open(&one, SIM_FAST, MODEL_COPY);
	other = ai_load(one.fd, SIM_FAST, "ai-sim-model 1\nop copy\nin x 1 1 8\nout y 1 1 8\n");
	WORKS(one.fd, AI_INFER, &one.call);
	fixture_again(&two, &one);
	two.call.model = other;
	FAILS(two.fd, AI_INFER, &two.call, EINVAL, NULL);
	two.in.bytes = 32;
	two.in.dims[1] = 8;
	WORKS(two.fd, AI_INFER, &two.call);
	EXPECT(two.out.needed == 32, "%llu bytes", (unsigned long long)two.out.needed);
	EXPECT(!ai_unload(one.fd, one.model), "%s", ai_sentence);
	WORKS(two.fd, AI_INFER, &two.call);
	FAILS(one.fd, AI_INFER, &one.call, ENOENT, NULL);
}

static void test_info_array(void)
{
	static const char text[] = "ai-sim-model 1\nin a 1 1\nin b 1 2\nin c 1 3\nout d 1 4\n";
	int fd = ai_open();
	uint32_t model = ai_load(fd, SIM_FAST, text), n;
	char *end = end_of_page();

	for (n = 0; n <= 6; n++) {
		struct ai_tensor_info io[7];
		AI_ARG(ai_model_info, info, .model = model, .tensors = (uintptr_t)io,
		       .capacity = n);
		uint32_t i, want = n < 4 ? n : 4;

		memset(io, 0x5a, sizeof(io));
		WORKS(fd, AI_MODEL_INFO, &info);
		for (i = 0; i < want; i++)
			EXPECT(io[i].name[0] == (char)('a' + i) && io[i].dims[0] == i + 1,
			       "element %u is %.8s", i, io[i].name);
		EXPECT(all_bytes(io + want, sizeof(io[0]) * (7 - want), 0x5a),
		       "capacity %u: writes more", n);
		EXPECT(info.nr_inputs == 3 && info.nr_outputs == 1, "counts");
	}
	{
		AI_ARG(ai_model_info, info, .model = model, .capacity = 0xffffffff);
		struct ai_tensor_info *io = (struct ai_tensor_info *)end - 4;

		info.tensors = (uintptr_t)io; /* ends with the page */
		WORKS(fd, AI_MODEL_INFO, &info);
		EXPECT(io[3].name[0] == 'd', "last element");
		info.tensors = (uintptr_t)io + 1;
		FAILS(fd, AI_MODEL_INFO, &info, EFAULT, NULL);
		info.tensors = 0;
		FAILS(fd, AI_MODEL_INFO, &info, EFAULT, NULL);
		info.tensors = ~0ULL;
		FAILS(fd, AI_MODEL_INFO, &info, EFAULT, NULL);
		info.capacity = 0; /* then nobody looks at the pointer */
		WORKS(fd, AI_MODEL_INFO, &info);
	}
}

static void test_unknown_handles(void)
{
	struct fixture fix;
	uint32_t handles[] = { 0, 0x7fffffff, 0x80000000, 0xffffffff, 12345 };
	unsigned int i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		AI_ARG(ai_model_info, info, .model = handles[i]);
		AI_ARG(ai_model_unload, unload, .model = handles[i]);
		char word[20];

		snprintf(word, sizeof(word), "%u", handles[i]);
		FAILS(fix.fd, AI_MODEL_INFO, &info, ENOENT, word);
		FAILS(fix.fd, AI_MODEL_UNLOAD, &unload, ENOENT, word);
		fix.call.model = handles[i];
		FAILS(fix.fd, AI_INFER, &fix.call, ENOENT, word);
	}
}

#define COMPILES "ai-sim-model 1\nop copy\ncompile_ms 1500\nin x 1 1 16\nout y 1 1 16\n"

static void test_nowait(void)
{
	struct ai_model_load arg = good_load(COMPILES);
	AI_ARG(ai_model_info, info);
	long long start = now_ns(), end = start + 10 * SEC;
	struct fixture fix;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	arg.hdr.flags = AI_MODEL_NOWAIT;
	WORKS(fix.fd, AI_MODEL_LOAD, &arg);
	EXPECT(now_ns() - start < 1200 * MS, "waited");
	EXPECT(arg.model && !arg.nr_inputs && !arg.nr_outputs, "%u inputs, %u outputs",
	       arg.nr_inputs, arg.nr_outputs);
	fix.call.model = info.model = arg.model;
	WORKS(fix.fd, AI_MODEL_INFO, &info);
	EXPECT(info.state == AI_MODEL_COMPILING, "state %u", info.state);
	FAILS(fix.fd, AI_INFER, &fix.call, EAGAIN, NULL);
	while (info.state == AI_MODEL_COMPILING && now_ns() < end) {
		sleep_ns(10 * MS);
		WORKS(fix.fd, AI_MODEL_INFO, &info);
	}
	EXPECT(info.state == AI_MODEL_READY && info.nr_inputs == 1 && info.nr_outputs == 1,
	       "state %u", info.state);
	EXPECT(info.compile_ns >= 1490 * MS, "compiled in %llu ns",
	       (unsigned long long)info.compile_ns);
	WORKS(fix.fd, AI_INFER, &fix.call);

	/* One that cannot be made ready says why, later. */
	arg = good_load("ai-sim-model 1\nin x 1 4\n");
	arg.hdr.flags = AI_MODEL_NOWAIT;
	WORKS(fix.fd, AI_MODEL_LOAD, &arg);
	info.model = arg.model;
	do {
		WORKS(fix.fd, AI_MODEL_INFO, &info);
	} while (info.state == AI_MODEL_COMPILING && now_ns() < end);
	EXPECT(info.state == AI_MODEL_FAILED, "state %u", info.state);
	EXPECT(info.reason[0] && memchr(info.reason, 0, sizeof(info.reason)), "no reason");
	fix.call.model = arg.model;
	FAILS(fix.fd, AI_INFER, &fix.call, EBADMSG, NULL);
	EXPECT(!ai_unload(fix.fd, arg.model), "%s", ai_sentence);
}

static void test_unload_while_compiling(void)
{
	struct ai_model_load arg = good_load(COMPILES);
	struct ai_held before;
	long long start;
	int fd = ai_open();

	ai_held(&before);
	arg.hdr.flags = AI_MODEL_NOWAIT;
	WORKS(fd, AI_MODEL_LOAD, &arg);
	start = now_ns();
	EXPECT(!ai_unload(fd, arg.model), "%s", ai_sentence);
	EXPECT(now_ns() - start < 1200 * MS, "waited");
	EXPECT(ai_held_at_most(&before, 2000), "the model is left");
	arg = good_load(COMPILES);
	arg.hdr.flags = AI_MODEL_NOWAIT;
	WORKS(fd, AI_MODEL_LOAD, &arg);
	close(fd);
	EXPECT(ai_held_at_most(&before, 2000), "the model outlives its file");
}

static void test_load_timeout(void)
{
	struct ai_model_load arg = good_load(COMPILES);
	AI_ARG(ai_model_info, info);
	struct ai_held before;
	long long start = now_ns(), spent;
	int fd = ai_open();

	ai_held(&before);
	arg.timeout_ns = start + 50 * MS;
	arg.version = 3;
	FAILS(fd, AI_MODEL_LOAD, &arg, ETIME, NULL);
	spent = now_ns() - start;
	EXPECT(spent >= 50 * MS && spent < 1400 * MS, "ended after %lld ms", spent / MS);
	EXPECT(ai_held_at_most(&before, 2000), "the model is left");
	info.model = 1;
	FAILS(fd, AI_MODEL_INFO, &info, ENOENT, NULL);
	arg = good_load(COMPILES);
	arg.version = 3;
	arg.timeout_ns = now_ns() + 20 * SEC;
	WORKS(fd, AI_MODEL_LOAD, &arg);
}

static void test_load_killed(void)
{
	struct ai_held before;
	long long start;
	int status;
	pid_t pid;

	ai_held(&before);
	pid = fork();
	if (!pid) {
		struct ai_model_load arg =
			good_load("ai-sim-model 1\ncompile_ms 30000\nin x 1 4\nout y 1 4\n");

		ai_call(ai_open(), AI_MODEL_LOAD, &arg);
		_exit(9);
	}
	sleep_ns(200 * MS);
	start = now_ns();
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT(WIFSIGNALED(status), "status 0x%x", status);
	EXPECT(now_ns() - start < 2 * SEC, "dies after %lld ms", (now_ns() - start) / MS);
	EXPECT(ai_held_at_most(&before, 2000), "the model is left");
}

static void test_any_device(void)
{
	struct ai_model_load arg = good_load(MODEL_COPY);
	int fd = ai_open();

	arg.device = AI_DEVICE_ANY;
	WORKS(fd, AI_MODEL_LOAD, &arg);
	EXPECT(ai_device(fd, arg.device).properties & AI_DEVICE_F_MODELS, "device %u", arg.device);
}

static void test_many(void)
{
	static uint32_t models[1000];
	const int many = tap_less(1000);
	struct ai_held before, now;
	int fd = ai_open(), i;

	ai_held(&before);
	for (i = 0; i < many; i++)
		models[i] = ai_load(fd, SIM_FAST, MODEL_NULL);
	ai_held(&now);
	EXPECT(now.models >= before.models + many || !now.regions, "%ld models", now.models);
	for (i = 0; i < many; i += 2)
		EXPECT(!ai_unload(fd, models[i]), "%s", ai_sentence);
	close(fd);
	EXPECT(ai_held_at_most(&before, 5000), "models are left");
}

static int race_fd;
static uint32_t race_loaded[4];

static void *thread_load(void *index)
{
	struct ai_model_load arg = good_load(MODEL_COPY);
	int ret;

	arg.version = 7;
	ret = ai_call(race_fd, AI_MODEL_LOAD, &arg);
	EXPECT(!ret || ret == -EEXIST, "%s", strerror(-ret));
	race_loaded[(uintptr_t)index] = ret ? 0 : arg.model;
	return NULL;
}

static void test_same_version_race(void)
{
	pthread_t threads[4];
	int round, i, loaded;

	race_fd = ai_open();
	for (round = 0; round < tap_less(50); round++) {
		loaded = 0;
		for (i = 0; i < 4; i++)
			ASSERT(!pthread_create(&threads[i], NULL, thread_load,
					       (void *)(uintptr_t)i), "no thread");
		for (i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		for (i = 0; i < 4; i++)
			if (race_loaded[i]) {
				loaded++;
				ai_unload(race_fd, race_loaded[i]);
			}
		EXPECT(loaded == 1, "loaded %d times", loaded);
	}
}

/* The caller may do with its memory what it likes once the call has returned. */
static void test_own_copy(void)
{
	char text[200];
	struct ai_model_load arg;
	struct fixture fix;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	strcpy(text, MODEL_COPY);
	arg = good_load(text);
	WORKS(fix.fd, AI_MODEL_LOAD, &arg);
	memset(text, 0, sizeof(text));
	fix.call.model = arg.model;
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.y[15] == 15.5f, "output %f", fix.y[15]);
}

/* An artefact in memory of the device file itself. */
static void test_from_mapping(void)
{
	int fd = ai_open();
	struct ai_alloc a = ai_get_mapped(fd, 1 << 20);
	char *p = (char *)(uintptr_t)a.address;
	struct ai_model_load arg;

	strcpy(p + 1000, MODEL_COPY);
	arg = good_load(p + 1000);
	WORKS(fd, AI_MODEL_LOAD, &arg);
}

/* A large artefact, most of it comments to nobody. */
static void test_large_artefact(void)
{
	size_t bytes = 40 << 20;
	struct ai_model_load arg = good_load("");
	struct ai_held before;
	int fd = ai_open(), ret;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(p != MAP_FAILED, "no memory");
	ai_held(&before);
	memset(p, '\n', bytes);
	memcpy(p, MODEL_COPY, strlen(MODEL_COPY));
	arg.data = (uintptr_t)p;
	arg.bytes = bytes;
	ret = ai_call(fd, AI_MODEL_LOAD, &arg);
	EXPECT(!ret || ret == -EBADMSG, "%s: %s", strerror(-ret), ai_sentence);
	if (!ret)
		EXPECT(!ai_unload(fd, arg.model), "%s", ai_sentence);
	EXPECT(ai_held_at_most(&before, 2000), "the artefact is left");
}

static void *thread_infer(void *arg)
{
	struct fixture mine;
	int ret = 0;

	fixture_again(&mine, arg);
	ret = ai_call(mine.fd, AI_INFER, &mine.call);
	EXPECT(!ret, "%s: %s", strerror(-ret), ai_sentence);
	return NULL;
}

struct race {
	int fd;
	int over;
};

#define CHURN 256

/* Keeps models coming and going until told to end. */
static void *thread_churn(void *arg)
{
	const struct race *race = arg;
	uint32_t handles[CHURN];
	int i;

	while (!__atomic_load_n(&race->over, __ATOMIC_RELAXED)) {
		for (i = 0; i < CHURN; i++)
			handles[i] = ai_load(race->fd, SIM_FAST, MODEL_NULL);
		for (i = 0; i < CHURN; i++)
			ai_unload(race->fd, handles[i]);
	}
	return NULL;
}

/* A load looks at all models of the file, while another thread unloads some. */
static void test_load_beside_unload(void)
{
	struct race race = { .fd = ai_open() };
	pthread_t thread;
	int i;

	ASSERT(!pthread_create(&thread, NULL, thread_churn, &race), "no thread");
	for (i = 0; i < 400; i++) {
		uint32_t model = ai_load(race.fd, SIM_FAST, MODEL_NULL);

		EXPECT(!ai_unload(race.fd, model), "%s", ai_sentence);
	}
	__atomic_store_n(&race.over, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

static void test_unload_while_running(void)
{
	struct ai_held before, now;
	pthread_t threads[3];
	struct fixture fix;
	int i;

	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	ai_held(&before);
	for (i = 0; i < 3; i++)
		ASSERT(!pthread_create(&threads[i], NULL, thread_infer, &fix), "no thread");
	sleep_ns(SIM_SLOW_NS / 2);
	EXPECT(ai_device(fix.fd, SIM_SLOW).queued >= 1, "no job runs");
	EXPECT(!ai_unload(fix.fd, fix.model), "%s", ai_sentence);
	FAILS(fix.fd, AI_INFER, &fix.call, ENOENT, NULL);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	now = before;
	now.regions--; /* the artefact */
	EXPECT(ai_held_at_most(&now, 2000), "the model is left");
}

static const struct tap_test tests[] = {
	{ "a model is loaded, described and unloaded", test_load, 0 },
	{ "bad fields are refused", test_bad_fields, 0 },
	{ "more bytes than a model may have are EFBIG", test_too_large, 0 },
	{ "a model of more than 4 GiB is EFBIG", test_four_gib, 0 },
	{ "what is no model is EBADMSG", test_artefacts, 0 },
	{ "tensors that cannot be are refused", test_impossible_tensors, 0 },
	{ "a truncated model is EBADMSG", test_truncated, 0 },
	{ "versions of a name are unique", test_versions, 0 },
	{ "versions live side by side", test_versions_side_by_side, 0 },
	{ "as many descriptions as fit are written", test_info_array, 0 },
	{ "unknown handles are ENOENT", test_unknown_handles, 0 },
	{ "AI_MODEL_NOWAIT", test_nowait, 0 },
	{ "a model is unloaded while it compiles", test_unload_while_compiling, 0 },
	{ "a load ends with its time-out", test_load_timeout, 0 },
	{ "a load can be killed", test_load_killed, 0 },
	{ "AI_DEVICE_ANY finds a device", test_any_device, 0 },
	{ "1000 models", test_many, 120 },
	{ "of four loads of one version one succeeds", test_same_version_race, 0 },
	{ "the artefact is copied", test_own_copy, 0 },
	{ "an artefact in memory of the device file", test_from_mapping, 0 },
	{ "a large artefact", test_large_artefact, 120 },
	{ "models are loaded while others are unloaded", test_load_beside_unload, 120 },
	{ "a model is unloaded while its jobs run", test_unload_while_running, 0 },
};

TAP_MAIN(tests)
