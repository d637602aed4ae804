// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules every command keeps: sizes, flags, reserved fields, pointers, the
 * error sentence. Each negative case differs from a call that works in one field.
 */
#define _GNU_SOURCE
#include "ai_test.h"

static int fd;
static struct fixture fix;

union any {
	struct ai_hdr hdr;
	struct ai_info info;
	struct ai_device_info device_info;
	struct ai_alloc alloc;
	struct ai_free free;
	struct ai_region_info region_info;
	struct ai_model_load model_load;
	struct ai_model_info model_info;
	struct ai_model_unload model_unload;
	struct ai_infer infer;
	struct ai_cancel cancel;
	struct ai_contract_create contract_create;
	struct ai_contract_info contract_query;
	struct ai_fuse_reset fuse_reset;
	struct ai_contract_events contract_events;
	struct ai_dump dump;
	struct ai_export export;
	struct ai_import import;
	struct ai_sync sync;
	char bytes[512];
};

/* ---- a valid call of each command; what it needs is made anew each time ---- */

static void make_nothing(union any *arg)
{
	(void)arg;
}

static void make_device_info(union any *arg)
{
	arg->device_info.device = SIM_FAST;
}

static void make_alloc(union any *arg)
{
	arg->alloc.bytes = 100;
	arg->alloc.perm = AI_PERM_READ | AI_PERM_WRITE;
}

static void make_free(union any *arg)
{
	arg->free.la = ai_get(fd, PAGE, AI_DEVICE_SYSTEM, AI_PERM_READ).la;
}

static void make_region_info(union any *arg)
{
	arg->region_info.la = fix.in_alloc.la;
}

static void make_model_load(union any *arg)
{
	arg->model_load.data = (uintptr_t)MODEL_COPY;
	arg->model_load.bytes = strlen(MODEL_COPY);
	arg->model_load.device = SIM_FAST;
	arg->model_load.format = AI_FORMAT_ONNX;
	strcpy(arg->model_load.name, "abi");
}

static void make_model_info(union any *arg)
{
	arg->model_info.model = fix.model;
}

static void make_model_unload(union any *arg)
{
	arg->model_unload.model = ai_load(fd, SIM_FAST, MODEL_NULL);
}

static void make_infer(union any *arg)
{
	fixture_reset(&fix);
	arg->infer.inputs = fix.call.inputs;
	arg->infer.outputs = fix.call.outputs;
	arg->infer.nr_inputs = 1;
	arg->infer.nr_outputs = 1;
	arg->infer.model = fix.model;
}

/* A contract of the name "abi" that lives as long as the test: its number. */
static uint64_t contract_exists(void)
{
	static struct ai_memory_term memory = { .bytes = PAGE };
	static struct ai_contract_create create = {
		.hdr = { .size = sizeof(create), .error_len = AI_ERROR_LEN },
		.nr_memory = 1,
		.name = "abi",
	};

	create.hdr.error = (uintptr_t)ai_sentence;
	create.memory = (uintptr_t)&memory;
	if (!create.id)
		ASSERT(!ai_call(fd, AI_CONTRACT_CREATE, &create), "%s", ai_sentence);
	return create.id;
}

static void make_contract_create(union any *arg)
{
	static struct ai_memory_term memory = { .bytes = PAGE };

	arg->contract_create.memory = (uintptr_t)&memory;
	arg->contract_create.nr_memory = 1;
	strcpy(arg->contract_create.name, "abi");
}

static void make_contract_query(union any *arg)
{
	arg->contract_query.id = contract_exists();
}

static void make_contract_events(union any *arg)
{
	arg->contract_events.id = contract_exists();
}

static void make_dump(union any *arg)
{
	static char room[1 << 20];

	arg->dump.device = SIM_FAST;
	arg->dump.buffer = (uintptr_t)room;
	arg->dump.capacity = sizeof(room);
}

static void make_export(union any *arg)
{
	arg->export.la = fix.in_alloc.la;
}

static void make_import(union any *arg)
{
	static void *page;

	if (!page)
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	arg->import.kind = AI_IMPORT_USER;
	arg->import.address = (uintptr_t)page;
	arg->import.bytes = PAGE;
	arg->import.perm = AI_PERM_READ;
}

static void make_sync(union any *arg)
{
	arg->hdr.flags = AI_SYNC_READ;
	arg->sync.la = fix.in_alloc.la;
}

static void make_fuse_reset(union any *arg)
{
	contract_exists();
	strcpy(arg->fuse_reset.name, "abi");
}

/* ---- and what it leaves, if it worked ---- */

static void undo_alloc(const union any *arg)
{
	if (arg->alloc.la)
		ai_free_la(fd, arg->alloc.la);
}

static void undo_export(const union any *arg)
{
	if (arg->export.fd > 0)
		close(arg->export.fd);
}

static void undo_import(const union any *arg)
{
	if (arg->import.la)
		ai_free_la(fd, arg->import.la);
}

static void undo_contract_create(const union any *arg)
{
	if (arg->contract_create.fd > 0)
		close(arg->contract_create.fd);
}

static void undo_model_load(const union any *arg)
{
	if (arg->model_load.model)
		ai_unload(fd, arg->model_load.model);
}

/* A call that was refused has not ended the handle. */
static void undo_free(const union any *arg)
{
	ai_free_la(fd, arg->free.la);
}

static void undo_model_unload(const union any *arg)
{
	ai_unload(fd, arg->model_unload.model);
}

struct range {
	unsigned int from, bytes;
};

static const struct command {
	const char *name;
	unsigned long cmd;
	unsigned int size, ver0;
	unsigned int flags;
	void (*make)(union any *arg);
	void (*undo)(const union any *arg);
	bool outputs; /* copies something back */
	struct range reserved, reserved2;
} commands[] = {
	{ "AI_INFO", AI_INFO, sizeof(struct ai_info), AI_INFO_SIZE_VER0, 0, make_nothing, NULL,
	  true, { 0, 0 }, { 0, 0 } },
	{ "AI_DEVICE_INFO", AI_DEVICE_INFO, sizeof(struct ai_device_info),
	  AI_DEVICE_INFO_SIZE_VER0, AI_DEVICE_NEXT, make_device_info, NULL, true, { 0, 0 },
	  { 0, 0 } },
	{ "AI_ALLOC", AI_ALLOC, sizeof(struct ai_alloc), AI_ALLOC_SIZE_VER0,
	  AI_ALLOC_MAP | AI_ALLOC_CONTRACT, make_alloc, undo_alloc, true,
	  { offsetof(struct ai_alloc, reserved), 4 }, { offsetof(struct ai_alloc, contract), 8 } },
	{ "AI_FREE", AI_FREE, sizeof(struct ai_free), AI_FREE_SIZE_VER0, AI_FREE_UNMAP, make_free,
	  undo_free, false, { offsetof(struct ai_free, address), 8 }, { 0, 0 } },
	{ "AI_REGION_INFO", AI_REGION_INFO, sizeof(struct ai_region_info),
	  AI_REGION_INFO_SIZE_VER0, 0, make_region_info, NULL, true, { 0, 0 }, { 0, 0 } },
	{ "AI_MODEL_LOAD", AI_MODEL_LOAD, sizeof(struct ai_model_load), AI_MODEL_LOAD_SIZE_VER0,
	  AI_MODEL_NOWAIT, make_model_load, undo_model_load, true, { 0, 0 }, { 0, 0 } },
	{ "AI_MODEL_INFO", AI_MODEL_INFO, sizeof(struct ai_model_info), AI_MODEL_INFO_SIZE_VER0, 0,
	  make_model_info, NULL, true, { 0, 0 }, { 0, 0 } },
	{ "AI_MODEL_UNLOAD", AI_MODEL_UNLOAD, sizeof(struct ai_model_unload),
	  AI_MODEL_UNLOAD_SIZE_VER0, 0, make_model_unload, undo_model_unload, false,
	  { offsetof(struct ai_model_unload, reserved), 4 }, { 0, 0 } },
	{ "AI_INFER", AI_INFER, sizeof(struct ai_infer), AI_INFER_SIZE_VER0,
	  AI_INFER_CONTRACT, make_infer, NULL, true, { offsetof(struct ai_infer, contract), 4 },
	  { 0, 0 } },
	{ "AI_CANCEL", AI_CANCEL, sizeof(struct ai_cancel), AI_CANCEL_SIZE_VER0, 0, make_nothing,
	  NULL, true, { offsetof(struct ai_cancel, reserved), 4 }, { 0, 0 } },
	{ "AI_CONTRACT_CREATE", AI_CONTRACT_CREATE, sizeof(struct ai_contract_create),
	  AI_CONTRACT_CREATE_SIZE_VER0, 0, make_contract_create, undo_contract_create, true,
	  { offsetof(struct ai_contract_create, reserved), 4 },
	  { offsetof(struct ai_contract_create, terms.reserved), 4 } },
	{ "AI_CONTRACT_QUERY", AI_CONTRACT_QUERY, sizeof(struct ai_contract_info),
	  AI_CONTRACT_QUERY_SIZE_VER0, AI_CONTRACT_NEXT, make_contract_query, NULL, true,
	  { 0, 0 }, { 0, 0 } },
	{ "AI_FUSE_RESET", AI_FUSE_RESET, sizeof(struct ai_fuse_reset), AI_FUSE_RESET_SIZE_VER0, 0,
	  make_fuse_reset, NULL, true, { offsetof(struct ai_fuse_reset, reserved), 4 },
	  { 0, 0 } },
	{ "AI_CONTRACT_EVENTS", AI_CONTRACT_EVENTS, sizeof(struct ai_contract_events),
	  AI_CONTRACT_EVENTS_SIZE_VER0, 0, make_contract_events, NULL, true, { 0, 0 }, { 0, 0 } },
	{ "AI_DUMP", AI_DUMP, sizeof(struct ai_dump), AI_DUMP_SIZE_VER0, 0, make_dump, NULL, true,
	  { offsetof(struct ai_dump, reserved), 4 }, { 0, 0 } },
	{ "AI_EXPORT", AI_EXPORT, sizeof(struct ai_export), AI_EXPORT_SIZE_VER0,
	  AI_EXPORT_READ_ONLY, make_export, undo_export, true,
	  { offsetof(struct ai_export, reserved), 4 }, { 0, 0 } },
	{ "AI_IMPORT", AI_IMPORT, sizeof(struct ai_import), AI_IMPORT_SIZE_VER0, 0, make_import,
	  undo_import, true, { offsetof(struct ai_import, fd), 4 },
	  { offsetof(struct ai_import, offset), 8 } },
	{ "AI_SYNC", AI_SYNC, sizeof(struct ai_sync), AI_SYNC_SIZE_VER0,
	  AI_SYNC_READ | AI_SYNC_WRITE | AI_SYNC_END, make_sync, NULL, false, { 0, 0 }, { 0, 0 } },
};

#define COMMANDS (ARRAY_SIZE(commands))
#define for_each_command(c) for ((c) = commands; (c) < commands + COMMANDS; (c)++)

static void setup(void)
{
	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fd = fix.fd;
}

/* A valid call of @c at @at, which has room for @size bytes. */
static void make_at(const struct command *c, void *at, size_t size)
{
	union any arg = { .hdr = { .error = (uintptr_t)ai_sentence, .error_len = AI_ERROR_LEN } };

	c->make(&arg);
	arg.hdr.size = c->size;
	memset(at, 0, size);
	memcpy(at, &arg, c->size < size ? c->size : size);
}

static void undo(const struct command *c, const void *at)
{
	union any arg = { 0 };

	memcpy(&arg, at, c->size);
	if (c->undo)
		c->undo(&arg);
}

#define CALL_FAILS(c, arg, error) \
	ai_fails(__FILE__, __LINE__, fd, (c)->name, (c)->cmd, arg, error, 0, NULL)
#define CALL_WORKS(c, arg) ai_works(__FILE__, __LINE__, fd, (c)->name, (c)->cmd, arg)

static void test_valid(void)
{
	const struct command *c;

	setup();
	for_each_command(c) {
		union any arg;

		make_at(c, &arg, sizeof(arg));
		CALL_WORKS(c, &arg);
		undo(c, &arg);
	}
}

static void test_flags(void)
{
	const struct command *c;
	unsigned int bit;

	setup();
	for_each_command(c) {
		union any arg;
		uint32_t flags;

		make_at(c, &arg, sizeof(arg));
		flags = arg.hdr.flags;
		for (bit = 0; bit < 32; bit++) {
			if (c->flags & (1U << bit))
				continue;
			arg.hdr.flags = 1U << bit;
			EXPECT(CALL_FAILS(c, &arg, EINVAL), "%s: flag bit %u", c->name, bit);
			/* One the kernel knows does not hide one it does not. */
			arg.hdr.flags |= c->flags;
			EXPECT(CALL_FAILS(c, &arg, EINVAL), "%s: flag bit %u and others", c->name,
			       bit);
		}
		arg.hdr.flags = flags;
		CALL_WORKS(c, &arg);
		undo(c, &arg);
	}
}

static void reserved_bytes(const struct command *c, union any *arg, unsigned int from,
			   unsigned int bytes)
{
	unsigned int i;

	for (i = from; i < from + bytes; i++) {
		arg->bytes[i] = 1;
		EXPECT(CALL_FAILS(c, arg, EINVAL), "%s: byte %u set", c->name, i);
		arg->bytes[i] = (char)0x80;
		EXPECT(CALL_FAILS(c, arg, EINVAL), "%s: byte %u set", c->name, i);
		arg->bytes[i] = 0;
	}
}

static void test_reserved(void)
{
	const struct command *c;

	setup();
	for_each_command(c) {
		union any arg;

		make_at(c, &arg, sizeof(arg));
		reserved_bytes(c, &arg, offsetof(struct ai_hdr, reserved), 4);
		reserved_bytes(c, &arg, c->reserved.from, c->reserved.bytes);
		reserved_bytes(c, &arg, c->reserved2.from, c->reserved2.bytes);
		CALL_WORKS(c, &arg);
		undo(c, &arg);
	}
}

static void test_short(void)
{
	const struct command *c;
	unsigned int size;

	setup();
	for_each_command(c) {
		union any arg;

		make_at(c, &arg, sizeof(arg));
		for (size = 0; size < c->ver0; size++) {
			int ret;

			arg.hdr.size = size;
			ret = ai_call(fd, c->cmd, &arg);
			EXPECT(ret == -EINVAL, "%s with %u bytes: %s", c->name, size,
			       strerror(-ret));
			EXPECT(size < sizeof(struct ai_hdr) || ai_sentence[0],
			       "%s with %u bytes: no sentence", c->name, size);
		}
		arg.hdr.size = c->ver0;
		CALL_WORKS(c, &arg);
		undo(c, &arg);
	}
}

static void test_long(void)
{
	static char big[16384];
	const struct command *c;
	unsigned int i;

	setup();
	for_each_command(c) {
		const unsigned int more[] = { 1, 4, 8, 100, PAGE - c->size };

		for (i = 0; i < ARRAY_SIZE(more); i++) {
			unsigned int size = c->size + more[i];
			struct ai_hdr *hdr = (struct ai_hdr *)big;

			make_at(c, big, sizeof(big));
			memset(big + size, 0xa5, sizeof(big) - size);
			hdr->size = size;
			big[c->size] = 1;
			EXPECT(CALL_FAILS(c, big, E2BIG), "%s: %u more, first one set", c->name,
			       more[i]);
			big[c->size] = 0;
			big[size - 1] = (char)0xff;
			EXPECT(CALL_FAILS(c, big, E2BIG), "%s: %u more, last one set", c->name,
			       more[i]);
			big[size - 1] = 0;
			EXPECT(CALL_WORKS(c, big), "%s: %u more, all zero", c->name, more[i]);
			EXPECT(all_bytes(big + c->size, more[i], 0), "%s: writes past its struct",
			       c->name);
			EXPECT(all_bytes(big + size, sizeof(big) - size, 0xa5),
			       "%s: writes past the argument", c->name);
			undo(c, big);
		}
	}
}

/* A size out of all reason is refused, whatever lies behind the argument. */
static void test_very_long(void)
{
	const unsigned int sizes[] = { PAGE + 1, 1U << 20, 0x7fffffff, 0x80000000, 0xffffffff };
	const struct command *c;
	unsigned int i;

	setup();
	for_each_command(c) {
		char *end = end_of_page();
		void *at = end - c->size;

		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			make_at(c, at, c->size);
			((struct ai_hdr *)at)->size = sizes[i];
			FAILS_EITHER(fd, c->cmd, at, E2BIG, EFAULT, NULL);
			undo(c, at);
		}
	}
}

/* A caller with a newer header has another size in the command number, too. */
static void test_number_sizes(void)
{
	const struct command *c;

	setup();
	for_each_command(c) {
		static char big[1024];
		unsigned int size = c->size + 64;
		unsigned long cmd = _IOC(_IOC_READ | _IOC_WRITE, AI_IOC_MAGIC, _IOC_NR(c->cmd),
					 size);
		int ret;

		make_at(c, big, sizeof(big));
		((struct ai_hdr *)big)->size = size;
		ret = ai_call(fd, cmd, big);
		EXPECT(!ret, "%s of a newer header: %s: %s", c->name, strerror(-ret), ai_sentence);
		undo(c, big);
	}
}

static void test_unknown(void)
{
	char arg[512];
	unsigned int nr, dir, magic;
	const struct command *c;

	setup();
	memset(arg, 0, sizeof(arg));
	((struct ai_hdr *)arg)->size = sizeof(arg);
	for (nr = 0; nr < 256; nr++) {
		bool known = false;
		int ret;

		for_each_command(c)
			known |= _IOC_NR(c->cmd) == nr;
		if (known)
			continue;
		ret = ai_call(fd, _IOC(_IOC_READ | _IOC_WRITE, AI_IOC_MAGIC, nr, 64), arg);
		EXPECT(ret == -ENOTTY, "number %u: %s", nr, strerror(-ret));
	}
	for (dir = 0; dir < 3; dir++) {
		int ret = ai_call(fd, _IOC(dir, AI_IOC_MAGIC, 0, sizeof(struct ai_info)), arg);

		EXPECT(ret == -ENOTTY, "direction %u: %s", dir, strerror(-ret));
	}
	for (magic = 0; magic < 256; magic++) {
		int ret;

		if (magic == AI_IOC_MAGIC)
			continue;
		ret = ai_call(fd, _IOC(3, magic, 0, sizeof(struct ai_info)), arg);
		EXPECT(ret == -ENOTTY, "magic 0x%x: %s", magic, strerror(-ret));
	}
	EXPECT(ai_call(fd, 0, arg) == -ENOTTY, "command 0");
	EXPECT(ai_call(fd, 0xffffffff, arg) == -ENOTTY, "command 0xffffffff");
}

static void test_end_of_page(void)
{
	const struct command *c;
	char *end;

	setup();
	end = end_of_page();
	for_each_command(c) {
		void *at = end - c->size;

		make_at(c, at, c->size);
		EXPECT(CALL_WORKS(c, at), "%s at the end of a page", c->name);
		undo(c, at);

		/* Across the boundary of two pages that both exist. */
		at = end - PAGE - c->size / 2;
		make_at(c, at, c->size);
		EXPECT(CALL_WORKS(c, at), "%s across pages", c->name);
		undo(c, at);
	}
}

static void test_unaligned(void)
{
	const struct command *c;
	unsigned int shift;

	setup();
	for_each_command(c) {
		for (shift = 1; shift < 8; shift++) {
			char room[520];

			make_at(c, room + shift, sizeof(room) - shift);
			EXPECT(CALL_WORKS(c, room + shift), "%s at %u past alignment", c->name,
			       shift);
			undo(c, room + shift);
		}
	}
}

static void test_bad_pointers(void)
{
	const struct command *c;
	unsigned int i, cut;
	char *end;

	setup();
	end = end_of_page();
	for_each_command(c) {
		void *bad[] = { NULL, (void *)1, end, (void *)-8L, (void *)-4096L,
#ifdef __LP64__
				(void *)0xffff888000000000UL, (void *)0x800000000000UL,
				(void *)0x7fffffffffffUL,
#endif
		};
		int ret;

		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			ret = ai_call(fd, c->cmd, bad[i]);
			EXPECT(ret == -EFAULT, "%s at %p: %s", c->name, bad[i], strerror(-ret));
		}
		/* The last bytes of the argument are missing. */
		for (cut = 1; cut < c->size; cut += cut < 8 ? 1 : 7) {
			union any arg;

			make_at(c, &arg, sizeof(arg));
			memcpy(end - c->size + cut, &arg, c->size - cut);
			ret = ai_call(fd, c->cmd, end - c->size + cut);
			EXPECT(ret == -EFAULT, "%s without its last %u bytes: %s", c->name, cut,
			       strerror(-ret));
			undo(c, &arg);
		}
	}
}

/* A result that cannot be delivered is taken back. */
static void test_read_only_argument(void)
{
	struct ai_held before, after;
	const struct command *c;
	char *page;

	setup();
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(page != MAP_FAILED, "no memory");
	for_each_command(c) {
		int ret;

		if (!c->outputs)
			continue;
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
		make_at(c, page, PAGE);
		mprotect(page, PAGE, PROT_READ);
		sleep_ns(50 * MS * tap_slow()); /* what a worker frees is freed */
		ai_held(&before);
		ret = ai_call(fd, c->cmd, page);
		EXPECT(ret == -EFAULT, "%s: %s", c->name, strerror(-ret));
		EXPECT(ai_held_at_most(&before, 1000), "%s: leaves a region behind", c->name);
		ai_held(&after);
		EXPECT(after.models <= before.models, "%s: leaves a model behind", c->name);
	}
}

static void test_sentence_length(void)
{
	const unsigned int lengths[] = { 0, 1, 2, 3, 10, 40, 100, 255, 256, 300, 1000 };
	char full[AI_ERROR_LEN], room[1024];
	const struct command *c;
	unsigned int i;

	setup();
	for_each_command(c) {
		union any arg;

		make_at(c, &arg, sizeof(arg));
		arg.hdr.flags = 1U << 31;
		CALL_FAILS(c, &arg, EINVAL);
		memcpy(full, ai_sentence, sizeof(full));
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			unsigned int length = lengths[i], text;

			memset(room, 0x5a, sizeof(room));
			arg.hdr.error = (uintptr_t)room;
			arg.hdr.error_len = length;
			EXPECT(ai_call(fd, c->cmd, &arg) == -EINVAL, "%s", c->name);
			EXPECT(all_bytes(room + length, sizeof(room) - length, 0x5a),
			       "%s: writes past an error buffer of %u bytes", c->name, length);
			if (!length)
				continue;
			text = strnlen(room, length);
			EXPECT(text < length, "%s: not terminated in %u bytes", c->name, length);
			EXPECT(text == strlen(full) || text == length - 1,
			       "%s: %u bytes of %zu in a buffer of %u", c->name, text,
			       strlen(full), length);
			EXPECT(!strncmp(room, full, text), "%s: another sentence in %u bytes",
			       c->name, length);
		}
		undo(c, &arg);
	}
}

static void test_sentence_pointer(void)
{
	const struct command *c;
	char *end;

	setup();
	end = end_of_page();
	for_each_command(c) {
		union any arg;
		int ret;

		make_at(c, &arg, sizeof(arg));
		arg.hdr.flags = 1U << 31;

		/* No buffer, or one that is no memory, changes nothing. */
		arg.hdr.error = 0;
		ret = ai_call(fd, c->cmd, &arg);
		EXPECT(ret == -EINVAL, "%s without a buffer: %s", c->name, strerror(-ret));
		arg.hdr.error = (uintptr_t)end;
		ret = ai_call(fd, c->cmd, &arg);
		EXPECT(ret == -EINVAL, "%s with a bad buffer: %s", c->name, strerror(-ret));
		arg.hdr.error = (uintptr_t)end;
		arg.hdr.error_len = 0xffffffff;
		ret = ai_call(fd, c->cmd, &arg);
		EXPECT(ret == -EINVAL, "%s with a bad long buffer: %s", c->name, strerror(-ret));
		arg.hdr.error = ~0ULL;
		ret = ai_call(fd, c->cmd, &arg);
		EXPECT(ret == -EINVAL, "%s with a buffer at the end: %s", c->name, strerror(-ret));

		/* One that ends with its page is used up to the last byte. */
		memset(end - PAGE, 0x5a, PAGE);
		arg.hdr.error = (uintptr_t)end - 12;
		arg.hdr.error_len = 12;
		ret = ai_call(fd, c->cmd, &arg);
		EXPECT(ret == -EINVAL, "%s: %s", c->name, strerror(-ret));
		EXPECT(strnlen(end - 12, 12) == 11, "%s: 12 bytes hold \"%.12s\"", c->name,
		       end - 12);
		/* One that promises more than there is does not crash. */
		arg.hdr.error_len = AI_ERROR_LEN;
		ret = ai_call(fd, c->cmd, &arg);
		EXPECT(ret == -EINVAL, "%s: %s", c->name, strerror(-ret));
		undo(c, &arg);
	}
}

/* Refused calls change nothing of the argument but what they say they write. */
static void test_refused_unchanged(void)
{
	const struct command *c;

	setup();
	for_each_command(c) {
		union any arg, was;

		make_at(c, &arg, sizeof(arg));
		memset(arg.bytes + c->size, 0xa5, sizeof(arg) - c->size);
		arg.hdr.reserved = 1;
		was = arg;
		CALL_FAILS(c, &arg, EINVAL);
		EXPECT(!memcmp(&arg, &was, sizeof(arg)), "%s: changed the argument", c->name);
		arg.hdr.reserved = 0;
		EXPECT(CALL_WORKS(c, &arg), "%s: does not work afterwards", c->name);
		EXPECT(all_bytes(arg.bytes + c->size, sizeof(arg) - c->size, 0xa5),
		       "%s: writes past the argument", c->name);
		EXPECT(!memcmp(&arg.hdr, &was.hdr, offsetof(struct ai_hdr, reserved)),
		       "%s: changed the head", c->name);
		undo(c, &arg);
	}
}

static void test_other_calls(void)
{
	char byte = 0;

	setup();
	EXPECT(read(fd, &byte, 1) < 0, "read works");
	EXPECT(write(fd, &byte, 1) < 0, "write works");
	EXPECT(pread(fd, &byte, 1, 4096) < 0, "pread works");
	EXPECT(lseek(fd, 0, SEEK_END) < 0 && errno == ESPIPE, "lseek works");
	EXPECT(ftruncate(fd, 4096) < 0, "ftruncate works");
	EXPECT(fcntl(fd, F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK: %s", strerror(errno));
	WORKS(fd, AI_INFER, &fix.call);
}

/* The file mode decides nothing: rights are those of the node. */
static void test_open_modes(void)
{
	const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_NONBLOCK };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		int file = open("/dev/ai0", modes[i] | O_CLOEXEC);
		AI_ARG(ai_info, info);

		ASSERT(file >= 0, "mode %x: %s", modes[i], strerror(errno));
		WORKS(file, AI_INFO, &info);
		close(file);
	}
	EXPECT(open("/dev/ai0", O_PATH | O_CLOEXEC) >= 0, "O_PATH");
}

static const struct tap_test tests[] = {
	{ "every command works", test_valid, 0 },
	{ "each unknown flag is refused", test_flags, 0 },
	{ "each reserved byte must be zero", test_reserved, 0 },
	{ "an argument shorter than first published is refused", test_short, 0 },
	{ "a longer argument works while the rest is zero", test_long, 0 },
	{ "an absurd size is refused", test_very_long, 0 },
	{ "the size in the command number may grow", test_number_sizes, 0 },
	{ "an unknown command is ENOTTY", test_unknown, 0 },
	{ "an argument may end with its page", test_end_of_page, 0 },
	{ "an argument need not be aligned", test_unaligned, 0 },
	{ "a bad pointer is EFAULT", test_bad_pointers, 0 },
	{ "a result that cannot be delivered is taken back", test_read_only_argument, 0 },
	{ "the sentence is cut to its buffer", test_sentence_length, 0 },
	{ "a bad error buffer changes nothing", test_sentence_pointer, 0 },
	{ "a refused call changes no argument", test_refused_unchanged, 0 },
	{ "read, write, seek and truncate are refused", test_other_calls, 0 },
	{ "every open mode works", test_open_modes, 0 },
};

TAP_MAIN(tests)
