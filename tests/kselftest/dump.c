// SPDX-License-Identifier: GPL-2.0-only
/* AI_DUMP: its sizes and form, what is in it, what is not, and who sees what. */
#define _GNU_SOURCE
#include "../../uapi/ai_dump.h"
#include "contract_test.h"

#define ROOM (1UL << 20)
#define TRACING_ON "/sys/kernel/tracing/tracing_on"

static unsigned char dump[ROOM];
static struct fixture fix;

/* 0 or -errno; the dump is in @to. */
static int dump_take_to(int fd, uint32_t device, uint64_t job, unsigned char *to,
			uint64_t *needed)
{
	AI_ARG(ai_dump, arg, .buffer = (uintptr_t)to, .capacity = ROOM, .job = job,
	       .device = device);
	int ret = ai_call(fd, AI_DUMP, &arg);

	*needed = arg.needed;
	return ret;
}

static const struct ai_dump_header *dump_take(int fd, uint32_t device, uint64_t job)
{
	uint64_t needed;
	int ret = dump_take_to(fd, device, job, dump, &needed);

	ASSERT(!ret, "%s: %s", strerror(-ret), ai_sentence);
	return (const struct ai_dump_header *)dump;
}

/* The section of that type, or NULL. */
static const struct ai_dump_section *dump_section(const unsigned char *from, uint32_t type)
{
	const struct ai_dump_header *header = (const void *)from;
	uint64_t at = header->header_bytes;

	while (at + sizeof(struct ai_dump_section) <= header->total_bytes) {
		const struct ai_dump_section *section = (const void *)(from + at);

		if (section->type == type)
			return section;
		at += sizeof(*section) + section->bytes;
	}
	return NULL;
}

static const void *dump_element(const struct ai_dump_section *section, uint64_t i)
{
	return (const unsigned char *)(section + 1) + i * section->element_bytes;
}

#define FOR_EACH(type, element, number)                                                   \
	for (const struct ai_dump_section *_s = dump_section(dump, number), *_once = _s;  \
	     _once; _once = NULL)                                                         \
		for (uint64_t _i = 0; _i < _s->count; _i++)                               \
			for (const type *element = dump_element(_s, _i); element; element = NULL)

static uint64_t dump_count(uint32_t type)
{
	const struct ai_dump_section *section = dump_section(dump, type);

	return section ? section->count : 0;
}

/* The last such decision, or NULL. */
static const struct ai_dump_decision *dump_decision(uint32_t kind)
{
	const struct ai_dump_decision *found = NULL;

	FOR_EACH(struct ai_dump_decision, d, AI_DUMP_DECISIONS)
		if (d->kind == kind)
			found = d;
	return found;
}

static void test_sizes(void)
{
	static unsigned char larger[ROOM];
	AI_ARG(ai_dump, arg, .device = SIM_FAST);
	int fd = ai_open();
	uint64_t needed;

	FAILS(fd, AI_DUMP, &arg, ENOSPC, "capacity");
	needed = arg.needed;
	EXPECT(needed > sizeof(struct ai_dump_header), "needed %llu",
	       (unsigned long long)needed);
	memset(larger, 0x77, sizeof(larger));
	arg.buffer = (uintptr_t)larger;
	arg.capacity = needed - 1;
	FAILS(fd, AI_DUMP, &arg, ENOSPC, "capacity");
	EXPECT(all_bytes(larger, sizeof(larger), 0x77), "something was written");
	arg.capacity = needed;
	WORKS(fd, AI_DUMP, &arg);
	EXPECT(arg.needed == needed, "needed %llu", (unsigned long long)arg.needed);
	EXPECT(all_bytes(larger + needed, sizeof(larger) - needed, 0x77), "more was written");
	arg.buffer = 8;
	FAILS(fd, AI_DUMP, &arg, EFAULT, "buffer");
	arg.buffer = (uintptr_t)larger;
	arg.job = 1ULL << 60;
	FAILS(fd, AI_DUMP, &arg, ENOENT, "no such job");
	arg.job = 0;
	arg.device = AI_DEVICE_SYSTEM;
	FAILS(fd, AI_DUMP, &arg, ENOENT, "no such device");
	arg.device = AI_DEVICE_ANY;
	FAILS(fd, AI_DUMP, &arg, ENOENT, "no such device");
	arg.device = SIM_FAST;
	arg.reserved = 1;
	FAILS(fd, AI_DUMP, &arg, EINVAL, "reserved");
}

/* Every section within bounds; the numbers agree with each other. */
static void check_form(const unsigned char *from, uint64_t bytes)
{
	const struct ai_dump_header *header = (const void *)from;
	uint64_t at = header->header_bytes, seen = 0;
	uint32_t sections = 0;

	EXPECT(header->magic == AI_DUMP_MAGIC && header->format == AI_DUMP_FORMAT &&
	       header->header_bytes == sizeof(*header) && header->total_bytes == bytes,
	       "header: format %u, %u and %llu bytes", header->format, header->header_bytes,
	       (unsigned long long)header->total_bytes);
	while (at < bytes) {
		const struct ai_dump_section *section = (const void *)(from + at);

		ASSERT(bytes - at >= sizeof(*section), "half a section at %llu",
		       (unsigned long long)at);
		at += sizeof(*section);
		ASSERT(section->bytes <= bytes - at && section->bytes % 8 == 0,
		       "section %u has %llu bytes", section->type,
		       (unsigned long long)section->bytes);
		EXPECT(section->version == 1 && section->type && section->type < 64,
		       "section %u version %u", section->type, section->version);
		EXPECT(section->count * section->element_bytes + 7 >= section->bytes &&
		       section->count * section->element_bytes <= section->bytes,
		       "section %u: %llu of %u bytes in %llu", section->type,
		       (unsigned long long)section->count, section->element_bytes,
		       (unsigned long long)section->bytes);
		EXPECT(!(seen & 1ULL << section->type), "section %u twice", section->type);
		seen |= 1ULL << section->type;
		at += section->bytes;
		sections++;
	}
	EXPECT(sections == header->sections, "%u sections, %u are said", sections,
	       header->sections);
	EXPECT(!(seen & (header->withheld | header->absent)), "sections 0x%llx are there",
	       (unsigned long long)seen);
	EXPECT((seen | header->withheld | header->absent) == 0xffe, "sections 0x%llx",
	       (unsigned long long)(seen | header->withheld | header->absent));
}

static void test_form(void)
{
	const struct ai_dump_header *header = dump_take(ai_open(), SIM_MEDIUM, 0);
	const struct ai_dump_device *device;
	struct ai_device_info info = ai_device(ai_open(), SIM_MEDIUM);
	struct timespec wall;

	check_form(dump, header->total_bytes);
	clock_gettime(CLOCK_REALTIME, &wall);
	EXPECT(header->flags == AI_DUMP_F_FULL, "flags 0x%x", header->flags);
	EXPECT(!strcmp(header->name, "gpu0") && header->device == SIM_MEDIUM, "%s", header->name);
	EXPECT(header->kernel[0] && header->module_version[0], "no versions");
	EXPECT(!strcmp(header->reason, "AI_DUMP"), "reason %s", header->reason);
	EXPECT(header->time_ns > now_ns() - 10 * SEC && header->time_ns <= now_ns(), "time");
	EXPECT(header->wall_ns / SEC >= wall.tv_sec - 10, "wall time");
	/* A software device has neither registers nor page tables nor firmware. */
	EXPECT(header->absent == (1 << AI_DUMP_REGISTERS | 1 << AI_DUMP_PTES |
				  1 << AI_DUMP_FIRMWARE_LOG),
	       "absent 0x%llx", (unsigned long long)header->absent);
	EXPECT(!header->withheld, "withheld 0x%llx", (unsigned long long)header->withheld);
	device = dump_element(dump_section(dump, AI_DUMP_DEVICE), 0);
	EXPECT(!strcmp(device->product, info.product) && device->mem_total == info.mem_total &&
	       device->queue_depth == info.queue_depth && device->properties == info.properties,
	       "device %s", device->product);
	EXPECT(dump_count(AI_DUMP_SENSORS) == 1 && dump_count(AI_DUMP_DRIVER) >= 5, "sections");
}

/* ---- jobs ---- */

#define WAITERS (SIM_DEPTH + 3)

static struct waiter waiters[WAITERS];

/* Some hang on the device, some wait for it. */
static void jobs_begin(uint32_t device)
{
	int i;

	sim_set("hang", "%d", SIM_DEPTH);
	for (i = 0; i < WAITERS; i++) {
		waiter_init(&waiters[i], &fix);
		waiters[i].fix.call.cookie = 100 + i;
		waiter_start(&waiters[i]);
		device_wait_queued(fix.fd, device, i + 1);
	}
}

static void jobs_end(void)
{
	int i;

	sim_reset();
	for (i = 0; i < WAITERS; i++) {
		AI_ARG(ai_cancel, cancel, .cookie = 100 + i);

		WORKS(fix.fd, AI_CANCEL, &cancel);
	}
	for (i = 0; i < WAITERS; i++)
		waiter_join(&waiters[i]);
}

static void check_jobs(void)
{
	uint64_t i = 0;

	FOR_EACH(struct ai_dump_job, job, AI_DUMP_QUEUE) {
		bool in_flight = i < SIM_DEPTH;

		EXPECT(job->state == (in_flight ? AI_DUMP_JOB_IN_FLIGHT : AI_DUMP_JOB_WAITS),
		       "job %llu: state %u", (unsigned long long)i, job->state);
		EXPECT(job->cookie == 100 + i, "job %llu: cookie %llu", (unsigned long long)i,
		       (unsigned long long)job->cookie);
		EXPECT(!!job->started_ns == in_flight && job->submitted_ns <= now_ns() &&
		       job->submitted_ns > now_ns() - 60 * SEC * tap_slow(),
		       "job %llu: times", (unsigned long long)i);
		EXPECT(job->inputs == 1 && job->outputs == 1 && job->model_name[0],
		       "job %llu: %u and %u tensors", (unsigned long long)i, job->inputs,
		       job->outputs);
		i++;
	}
	EXPECT(i == WAITERS, "%llu jobs", (unsigned long long)i);
}

static void test_jobs(void)
{
	uint64_t last = 0;
	int outputs = 0;

	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	jobs_begin(SIM_SLOW);
	dump_take(fix.fd, SIM_SLOW, 0);
	check_form(dump, ((struct ai_dump_header *)dump)->total_bytes);
	check_jobs();
	EXPECT(dump_count(AI_DUMP_TENSORS) == 2 * SIM_DEPTH, "%llu tensors",
	       (unsigned long long)dump_count(AI_DUMP_TENSORS));
	FOR_EACH(struct ai_dump_tensor, t, AI_DUMP_TENSORS) {
		bool output = t->flags & AI_DUMP_TENSOR_OUTPUT;

		outputs += output;
		EXPECT(t->la == (output ? fix.out_alloc.la : fix.in_alloc.la) && !t->offset &&
		       t->region_la == t->la && t->region_pages == 4 && t->home == 0 &&
		       t->bytes == 64 && t->index == output,
		       "la 0x%llx, %llu bytes", (unsigned long long)t->la,
		       (unsigned long long)t->bytes);
	}
	EXPECT(outputs == SIM_DEPTH, "%d outputs", outputs);

	/* One that waits has tensors if it is asked for. */
	FOR_EACH(struct ai_dump_job, job, AI_DUMP_QUEUE)
		last = job->job;
	dump_take(fix.fd, SIM_SLOW, last);
	EXPECT(dump_count(AI_DUMP_TENSORS) == 2, "%llu tensors",
	       (unsigned long long)dump_count(AI_DUMP_TENSORS));
	FOR_EACH(struct ai_dump_tensor, t, AI_DUMP_TENSORS)
		EXPECT(t->job == last, "job %llu", (unsigned long long)t->job);
	jobs_end();
	dump_take(fix.fd, SIM_SLOW, 0);
	EXPECT(!dump_count(AI_DUMP_QUEUE) && !dump_count(AI_DUMP_TENSORS), "jobs are left");
}

/* Bytes that no dump has by chance. */
#define SECRET 8

static void test_no_data(void)
{
	static const char secret[SECRET + 1] = "\xa7S3cr3t!";
	unsigned int i;

	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	for (i = 0; i + SECRET <= 4 * PAGE; i += SECRET) {
		memcpy((char *)fix.x + i, secret, SECRET);
		memcpy((char *)fix.y + i, secret, SECRET);
	}
	jobs_begin(SIM_SLOW);
	dump_take(fix.fd, SIM_SLOW, 0);
	EXPECT(!memmem(dump, ((struct ai_dump_header *)dump)->total_bytes, secret, SECRET),
	       "tensor data is in the dump");
	EXPECT(!memmem(dump, ((struct ai_dump_header *)dump)->total_bytes, "ai-sim-model", 12),
	       "the artefact is in the dump");
	jobs_end();
}

/* ---- contracts and decisions ---- */

static void test_contracts(void)
{
	struct ai_terms terms = good_terms(), greedy = good_terms();
	const struct ai_dump_contract *c;
	const struct ai_dump_decision *d;
	struct ai_contract_info info;
	long traced = file_number(TRACING_ON, -1);
	bool found = false;
	uint64_t id;
	int contract;

	/* Nobody needs to trace for this. */
	if (traced == 1)
		file_write(TRACING_ON, "0");
	fixture_open(&fix, SIM_MEDIUM, MODEL_COPY);
	terms.energy_uj = 1; /* cannot be kept */
	contract = contract_service(fix.fd, terms);
	id = created.id;
	use_contract(&fix, contract);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.call.service == AI_SERVICE_VIOLATED, "service %u", fix.call.service);
	greedy.service_ns = 15 * MS;
	greedy.period_ns = 15 * MS;
	EXPECT(contract_ask(fix.fd, "greedy", NULL, 0, greedy, 0) == -EDQUOT, "granted");

	dump_take(fix.fd, SIM_MEDIUM, 0);
	ASSERT(dump_count(AI_DUMP_CONTRACTS) == 1, "%llu contracts",
	       (unsigned long long)dump_count(AI_DUMP_CONTRACTS));
	c = dump_element(dump_section(dump, AI_DUMP_CONTRACTS), 0);
	info = contract_info(contract);
	EXPECT(c->info.id == id && c->uid == geteuid() && !strcmp(c->info.name, info.name) &&
	       c->info.jobs == 1 && c->info.violated == 1 && !c->info.memory &&
	       c->info.terms.latency_ns == terms.latency_ns && c->memory_known,
	       "contract %llu: %llu jobs, %llu violated", (unsigned long long)c->info.id,
	       (unsigned long long)c->info.jobs, (unsigned long long)c->info.violated);
	FOR_EACH(struct ai_dump_event, e, AI_DUMP_EVENTS)
		found |= e->contract == id && e->event.kind == AI_EVENT_ENERGY &&
			 e->event.job == fix.call.record.job && e->event.limit == 1;
	EXPECT(found, "the violation is not there");
	d = dump_decision(AI_DECISION_GRANTED);
	EXPECT(d && d->contract == id, "no grant of %llu", (unsigned long long)id);
	d = dump_decision(AI_DECISION_REFUSED);
	EXPECT(d && d->term == created.term && d->found == created.needed &&
	       d->limit == created.available, "no refusal as it was answered");
	if (traced == 1)
		file_write(TRACING_ON, "1");
}

static void test_decisions(void)
{
	uint64_t before = 0, count = 0;
	const struct ai_dump_decision *d;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	sim_set("fail", "1");
	FAILS(fix.fd, AI_INFER, &fix.call, EIO, NULL);
	dump_take(fix.fd, SIM_FAST, 0);
	d = dump_decision(AI_DECISION_JOB_FAILED);
	EXPECT(d && d->job == fix.call.record.job && d->found == EIO, "the failure is not there");

	sim_set("hang", "1");
	fixture_reset(&fix);
	fix.call.timeout_ns = now_ns() + 50 * MS;
	FAILS(fix.fd, AI_INFER, &fix.call, ETIME, NULL);
	dump_take(fix.fd, SIM_FAST, 0);
	d = dump_decision(AI_DECISION_JOB_TIMEOUT);
	EXPECT(d && d->job == fix.call.record.job, "the time-out is not there");

	/* More than are kept: the last ones are there, in order. */
	sim_set("fail", "200");
	for (int i = 0; i < 200; i++) {
		fixture_reset(&fix);
		ai_call(fix.fd, AI_INFER, &fix.call);
	}
	dump_take(fix.fd, SIM_FAST, 0);
	FOR_EACH(struct ai_dump_decision, e, AI_DUMP_DECISIONS) {
		if (e->kind != AI_DECISION_JOB_FAILED)
			continue;
		EXPECT(e->sequence > before, "out of order");
		before = e->sequence;
		count++;
	}
	EXPECT(count >= 32, "%llu are kept", (unsigned long long)count);
	d = dump_decision(AI_DECISION_JOB_FAILED);
	EXPECT(d->job == fix.call.record.job, "the last one is not there");
}

/* ---- who sees what ---- */

static void check_other(int fd)
{
	const struct ai_dump_header *header = dump_take(fd, SIM_SLOW, 0);

	check_form(dump, header->total_bytes);
	EXPECT(!(header->flags & AI_DUMP_F_FULL), "a full dump");
	EXPECT(header->withheld == (1 << AI_DUMP_REGISTERS | 1 << AI_DUMP_DRIVER |
				    1 << AI_DUMP_PTES | 1 << AI_DUMP_FIRMWARE_LOG),
	       "withheld 0x%llx", (unsigned long long)header->withheld);
	EXPECT(dump_count(AI_DUMP_DEVICE) == 1 && dump_count(AI_DUMP_SENSORS) == 1, "no device");
	EXPECT(!dump_count(AI_DUMP_QUEUE), "jobs of others");
	EXPECT(!dump_count(AI_DUMP_CONTRACTS) && !dump_count(AI_DUMP_EVENTS),
	       "contracts of others");
	EXPECT(!dump_count(AI_DUMP_TENSORS), "tensors of others");
	EXPECT(!memmem(dump, header->total_bytes, "service", 7), "the name of a contract");
	FOR_EACH(struct ai_dump_decision, d, AI_DUMP_DECISIONS)
		EXPECT(!d->contract && !d->job, "a decision of others");
}

static void test_other_user(void)
{
	struct ai_terms terms = good_terms();
	int status = 1, other;
	uint64_t job = 0;
	pid_t pid;

	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	terms.device = SIM_SLOW;
	terms.service_ns = 50 * MS;
	terms.latency_ns = 2 * SEC;
	terms.period_ns = SEC;
	terms.burst = 1;
	ASSERT(contract_service(fix.fd, terms) > 0, "%s", ai_sentence);
	jobs_begin(SIM_SLOW);
	dump_take(fix.fd, SIM_SLOW, 0);
	FOR_EACH(struct ai_dump_job, j, AI_DUMP_QUEUE)
		job = j->job;
	other = ai_open();
	pid = fork();
	if (!pid) {
		AI_ARG(ai_dump, arg, .buffer = (uintptr_t)dump, .capacity = ROOM, .job = job,
		       .device = SIM_SLOW);

		if (setresuid(12345, 12345, 12345))
			_exit(1);
		check_other(other);
		FAILS(other, AI_DUMP, &arg, ENOENT, "no such job");
		/* Its own it sees: by the file, and by the user. */
		ASSERT(contract_service(other, terms) > 0, "%s", ai_sentence);
		dump_take(other, SIM_SLOW, 0);
		EXPECT(dump_count(AI_DUMP_CONTRACTS) == 1 && dump_decision(AI_DECISION_GRANTED),
		       "its contract is not there");
		WORKS(fix.fd, AI_DUMP, &arg);
		EXPECT(dump_count(AI_DUMP_TENSORS) == 2, "its file's job is not there");
		EXPECT(dump_count(AI_DUMP_QUEUE) == WAITERS, "its file's jobs are not there");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT(!status, "the other user's process failed");
	jobs_end();
}

/* ---- races ---- */

static bool over;

static void *thread_dump(void *arg)
{
	unsigned char *mine = malloc(ROOM);
	int fd = ai_open(), ret;
	uint64_t bytes;

	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		ret = dump_take_to(fd, SIM_SLOW, 0, mine, &bytes);
		if (!ret)
			check_form(mine, bytes);
		EXPECT(!ret || ret == -ENOENT, "%s: %s", strerror(-ret), ai_sentence);
	}
	free(mine);
	close(fd);
	return NULL;
}

static void *thread_come_and_go(void *arg)
{
	struct ai_terms terms = good_terms();

	(void)arg;
	terms.device = SIM_SLOW;
	terms.latency_ns = terms.period_ns = SEC;
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		struct fixture own;
		int contract;

		/* The device goes meanwhile, for which there is nothing to expect. */
		own.fd = ai_open();
		contract = contract_ask(own.fd, "racer", NULL, 0, terms, 0) ? -1 : created.fd;
		close(own.fd);
		if (contract >= 0)
			close(contract);
	}
	return NULL;
}

static void race(pthread_t *threads, bool begin)
{
	int i;

	for (i = 0; i < 3; i++) {
		if (begin)
			ASSERT(!pthread_create(&threads[i], NULL,
					       i < 2 ? thread_dump : thread_come_and_go, NULL),
			       "no thread");
		else
			pthread_join(threads[i], NULL);
	}
}

static void test_race_close(void)
{
	long long end = now_ns() + 3 * SEC;
	pthread_t threads[3];

	race(threads, true);
	while (now_ns() < end) {
		fixture_open(&fix, SIM_SLOW, MODEL_COPY);
		jobs_begin(SIM_SLOW);
		jobs_end();
		munmap(fix.x, 4 * PAGE);
		munmap(fix.y, 4 * PAGE);
		close(fix.fd);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	race(threads, false);
}

static void test_race_unplug(void)
{
	pthread_t threads[3];
	int round, ret;

	race(threads, true);
	for (round = 0; round < tap_less(5); round++) {
		sleep_ns(50 * MS);
		ret = module_unload("ai_sim");
		EXPECT(!ret, "ai_sim is not unloaded: %s", strerror(-ret));
		ret = sim_ensure();
		ASSERT(!ret, "ai_sim is not loaded: %s", strerror(-ret));
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	race(threads, false);
}

static const struct tap_test tests[] = {
	{ "sizes and errors", test_sizes, 0 },
	{ "the form is as described", test_form, 0 },
	{ "jobs in flight and waiting, and their tensors", test_jobs, 0 },
	{ "no data of tensors and models", test_no_data, 0 },
	{ "contracts, events and decisions, without tracing", test_contracts, 0 },
	{ "decisions about jobs", test_decisions, 0 },
	{ "another user sees its own", test_other_user, 0 },
	{ "while jobs, contracts and files come and go", test_race_close, 0 },
	{ "while the device comes and goes", test_race_unplug, 0 },
};

TAP_MAIN(tests)
