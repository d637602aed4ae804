// SPDX-License-Identifier: GPL-2.0-only
/* Contracts: admission, reserved memory, order on the device, events, fuse, lapsing. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "ai_test.h"

#define MAX_MEMORY AI_MAX_CONTRACT_MEMORY
#define MiB (1UL << 20)

static struct ai_contract_create created; /* the last answer */

/* 0 or -errno; the descriptor in created.fd. */
static int contract_ask(int fd, const char *name, const struct ai_memory_term *memory,
			unsigned int count, struct ai_terms terms, int64_t wait_until_ns)
{
	AI_ARG(ai_contract_create, arg, .memory = (uintptr_t)memory, .nr_memory = count,
	       .terms = terms, .wait_until_ns = wait_until_ns);
	int ret;

	snprintf(arg.name, sizeof(arg.name), "%s", name);
	ret = ai_call(fd, AI_CONTRACT_CREATE, &arg);
	created = arg;
	return ret;
}

static int contract_memory(int fd, uint32_t device, uint64_t bytes)
{
	struct ai_memory_term memory = { .device = device, .bytes = bytes };
	int ret = contract_ask(fd, "memory", &memory, 1, (struct ai_terms){}, 0);

	return ret ?: created.fd;
}

static int contract_service(int fd, struct ai_terms terms)
{
	int ret = contract_ask(fd, "service", NULL, 0, terms, 0);

	EXPECT(!ret, "%s: %s", strerror(-ret), ai_sentence);
	EXPECT(created.answer == AI_ANSWER_GRANTED, "answer %u", created.answer);
	return ret ?: created.fd;
}

static struct ai_contract_info contract_info(int contract)
{
	AI_ARG(ai_contract_info, info);

	EXPECT(!ai_call(contract, AI_CONTRACT_QUERY, &info), "%s", ai_sentence);
	return info;
}

static int contract_alloc(int fd, int contract, uint32_t device, uint64_t bytes, uint64_t *la)
{
	AI_ARG(ai_alloc, arg, .bytes = bytes, .device = device,
	       .perm = AI_PERM_READ | AI_PERM_WRITE, .contract = contract);
	int ret;

	arg.hdr.flags = AI_ALLOC_CONTRACT;
	ret = ai_call(fd, AI_ALLOC, &arg);
	*la = arg.la;
	return ret;
}

static int plain_alloc(int fd, uint32_t device, uint64_t bytes)
{
	AI_ARG(ai_alloc, arg, .bytes = bytes, .device = device, .perm = AI_PERM_READ);

	return ai_call(fd, AI_ALLOC, &arg);
}

/* Events there are now. */
static int contract_events(int contract, struct ai_event *events, int room)
{
	struct pollfd pfd = { .fd = contract, .events = POLLIN };
	ssize_t got = 0;

	if (poll(&pfd, 1, 0) > 0)
		got = read(contract, events, room * sizeof(*events));
	EXPECT(got >= 0 && got % sizeof(*events) == 0, "read: %zd", got);
	return got / (ssize_t)sizeof(*events);
}

static bool contract_event(int contract, uint32_t kind, struct ai_event *event)
{
	struct ai_event events[64];
	int i, count = contract_events(contract, events, 64);

	for (i = 0; i < count; i++) {
		if (events[i].kind == kind) {
			*event = events[i];
			return true;
		}
	}
	return false;
}

/* ---- memory ---- */

static void test_memory(void)
{
	int fd = ai_open(), contract;
	uint64_t la[512];
	unsigned int i;

	contract = contract_memory(fd, SIM_FAST, 2 * MiB);
	ASSERT(contract > 0, "%s: %s", strerror(-contract), ai_sentence);
	EXPECT(ai_device(fd, SIM_FAST).mem_free == SIM_MEMORY_BYTES - 2 * MiB, "free: %llu",
	       (unsigned long long)ai_device(fd, SIM_FAST).mem_free);
	/* What is left is for everybody, but no more. */
	while (!plain_alloc(fd, SIM_FAST, PAGE))
		;
	EXPECT(!ai_device(fd, SIM_FAST).mem_free, "something is free");
	EXPECT(plain_alloc(fd, SIM_FAST, PAGE) == -ENOSPC, "%s", ai_sentence);
	for (i = 0; i < 512; i++)
		EXPECT(!contract_alloc(fd, contract, SIM_FAST, PAGE, &la[i]), "page %u: %s", i,
		       ai_sentence);
	EXPECT(contract_alloc(fd, contract, SIM_FAST, PAGE, &la[0]) == -EDQUOT, "%s", ai_sentence);
	/* What comes back is the contract's again. */
	for (i = 1; i < 512; i += 2)
		ai_free_la(fd, la[i]);
	EXPECT(plain_alloc(fd, SIM_FAST, PAGE) == -ENOSPC, "%s", ai_sentence);
	EXPECT(!contract_alloc(fd, contract, SIM_FAST, MiB, &la[1]), "%s", ai_sentence);
	EXPECT(contract_alloc(fd, contract, SIM_OTHER, PAGE, &la[3]) == -EDQUOT, "%s", ai_sentence);
	/* Closed: what was used stays, what was not is free. */
	ai_free_la(fd, la[1]);
	close(contract);
	EXPECT(ai_device(fd, SIM_FAST).mem_free == MiB, "free: %llu",
	       (unsigned long long)ai_device(fd, SIM_FAST).mem_free);
	EXPECT(!plain_alloc(fd, SIM_FAST, MiB), "%s", ai_sentence);
}

static void test_memory_refused(void)
{
	int fd = ai_open();
	struct ai_memory_term two[2] = { { .device = SIM_FAST, .bytes = 3 * MiB },
					 { .device = SIM_OTHER, .bytes = 5 * MiB } };

	EXPECT(contract_memory(fd, SIM_FAST, 3 * MiB) > 0, "%s", ai_sentence);
	/* Nothing of it is used: reservations count. */
	EXPECT(contract_memory(fd, SIM_FAST, 2 * MiB) == -EDQUOT, "%s", ai_sentence);
	EXPECT(created.answer == AI_ANSWER_REFUSED && created.term == AI_TERM_MEMORY &&
	       created.device == SIM_FAST && created.needed == 2 * MiB &&
	       created.available == MiB && !created.offered && created.fd == -1,
	       "answer %u term %u device %u needed %llu available %llu", created.answer,
	       created.term, created.device, (unsigned long long)created.needed,
	       (unsigned long long)created.available);
	EXPECT(contract_memory(fd, SIM_FAST, created.available) > 0, "%s", ai_sentence);
	/* All or nothing. */
	two[0].device = SIM_MEDIUM;
	EXPECT(contract_ask(fd, "two", two, 2, (struct ai_terms){}, 0) == -EDQUOT, "%s",
	       ai_sentence);
	EXPECT(created.device == SIM_OTHER, "device %u", created.device);
	EXPECT(ai_device(fd, SIM_MEDIUM).mem_free == SIM_MEMORY_BYTES, "something stays reserved");
	EXPECT(contract_memory(fd, AI_DEVICE_SYSTEM, 1ULL << 39) == -EDQUOT, "%s", ai_sentence);
}

struct piece {
	uint64_t la, bytes;
};

/* Within its terms nothing fails, however the reservation was cut up before. */
static void cut_up(uint32_t device, uint64_t total, uint64_t largest, int rounds)
{
	int fd = ai_open(), contract = contract_memory(fd, device, total), i;
	struct ai_memory_term memory = {};
	AI_ARG(ai_contract_info, info, .memory = (uintptr_t)&memory, .capacity = 1);
	struct piece piece[64] = {};
	uint64_t used = 0, seed = 77;

	ASSERT(contract > 0, "%s", ai_sentence);
	for (i = 0; i < tap_less(rounds); i++) {
		struct piece *p = &piece[random_next(&seed) % ARRAY_SIZE(piece)];

		if (p->bytes) {
			EXPECT(!ai_free_la(fd, p->la), "%s", ai_sentence);
			used -= p->bytes;
			p->bytes = 0;
			continue;
		}
		p->bytes = (random_next(&seed) % largest / PAGE + 1) * PAGE;
		/* Now and then all that is left in one piece. */
		if (random_next(&seed) % 8 == 0)
			p->bytes = total - used;
		if (!p->bytes || p->bytes > total - used) {
			p->bytes = 0;
			continue;
		}
		ASSERT(!contract_alloc(fd, contract, device, p->bytes, &p->la),
		       "round %d: %llu bytes with %llu of %llu used: %s", i,
		       (unsigned long long)p->bytes, (unsigned long long)used,
		       (unsigned long long)total, ai_sentence);
		used += p->bytes;
	}
	EXPECT(!ai_call(contract, AI_CONTRACT_QUERY, &info), "%s", ai_sentence);
	EXPECT(memory.used == used && memory.bytes == total, "%llu used, want %llu",
	       (unsigned long long)memory.used, (unsigned long long)used);
	for (i = 0; i < (int)ARRAY_SIZE(piece); i++)
		EXPECT(!piece[i].bytes || (piece[i].la >= memory.la &&
		       piece[i].la + piece[i].bytes / PAGE <= memory.la + memory.pages),
		       "la 0x%llx is outside of the range", (unsigned long long)piece[i].la);
}

static void test_cut_up_device(void)
{
	cut_up(SIM_FAST, 3 * MiB, MiB / 4, 4000);
}

static void test_cut_up_system(void)
{
	cut_up(AI_DEVICE_SYSTEM, 24 * MiB, 4 * MiB, 4000);
}

/* Reserved pages are zeroed each time, can be mapped and used by a job. */
static void test_reserved_pages(void)
{
	int fd = ai_open(), contract = contract_memory(fd, AI_DEVICE_SYSTEM, 4 * MiB), i;
	uint64_t la;

	ASSERT(contract > 0, "%s", ai_sentence);
	for (i = 0; i < 3; i++) {
		AI_ARG(ai_alloc, arg, .bytes = 3 * MiB, .perm = AI_PERM_READ | AI_PERM_WRITE,
		       .contract = contract);
		char *memory;

		arg.hdr.flags = AI_ALLOC_CONTRACT | AI_ALLOC_MAP;
		ASSERT(!ai_call(fd, AI_ALLOC, &arg), "%s", ai_sentence);
		memory = (char *)(uintptr_t)arg.address;
		EXPECT(all_bytes(memory, 3 * MiB, 0), "round %d: not zeroed", i);
		memset(memory, 0x5a, 3 * MiB);
		EXPECT(contract_alloc(fd, contract, AI_DEVICE_SYSTEM, 2 * MiB, &la) == -EDQUOT,
		       "%s", ai_sentence);
		/* A mapping keeps the pages and so their part of the reservation. */
		EXPECT(!ai_free_la(fd, arg.la), "%s", ai_sentence);
		EXPECT(contract_alloc(fd, contract, AI_DEVICE_SYSTEM, 2 * MiB, &la) == -EDQUOT,
		       "%s", ai_sentence);
		EXPECT(memory[2 * MiB] == 0x5a, "the mapping has changed");
		munmap(memory, 3 * MiB);
	}
}

/* ---- terms ---- */

static struct ai_terms good_terms(void)
{
	return (struct ai_terms){ .device = SIM_MEDIUM, .latency_ns = 20 * MS,
				  .period_ns = 50 * MS, .service_ns = MS };
}

static void test_bad_terms(void)
{
	int fd = ai_open();
	struct ai_terms terms = good_terms();
	struct ai_memory_term memory = { .device = SIM_FAST, .bytes = PAGE };
	struct ai_memory_term many[MAX_MEMORY + 1] = {};

#define BAD(error, field, value)                                                             \
	do {                                                                                 \
		int ret_;                                                                    \
		terms = good_terms();                                                        \
		terms.field = value;                                                         \
		ret_ = contract_ask(fd, "bad", NULL, 0, terms, 0);                            \
		EXPECT(ret_ == -(error), #field " " #value ": %s", strerror(-ret_));          \
		EXPECT(strstr(ai_sentence, #field), "'%s' does not name " #field, ai_sentence); \
		EXPECT(created.answer == AI_ANSWER_NONE && created.fd == -1, "answered");     \
	} while (0)
	BAD(EINVAL, latency_ns, 1000);
	BAD(EINVAL, latency_ns, -1ULL);
	BAD(EINVAL, latency_ns, MS / 2);
	BAD(EINVAL, latency_ns, 0);
	BAD(EINVAL, period_ns, 0);
	BAD(EINVAL, period_ns, MS - 1);
	BAD(EINVAL, period_ns, 1ULL << 63);
	BAD(EINVAL, service_ns, 0);
	BAD(EINVAL, service_ns, -1ULL >> 1);
	BAD(EINVAL, burst, 0xffffffff);
	BAD(EINVAL, lapse_ns, 1ULL << 62);
	BAD(EINVAL, lapse_ns, 10 * MS - 1);
	BAD(EINVAL, fuse_ns, -1ULL);
	BAD(EINVAL, device, 0);
	BAD(ENOENT, device, 255);
	BAD(ENOENT, model, 12345);
	BAD(EINVAL, reserved[3], 1);
#undef BAD
	EXPECT(!contract_ask(fd, "good", NULL, 0, good_terms(), 0), "%s", ai_sentence);

	EXPECT(contract_ask(fd, "", NULL, 0, good_terms(), 0) == -EINVAL, "%s", ai_sentence);
	EXPECT(contract_ask(fd, "\n", NULL, 0, good_terms(), 0) == -EINVAL, "%s", ai_sentence);
	EXPECT(contract_ask(fd, "x", NULL, 0, good_terms(), -5) == -EINVAL, "%s", ai_sentence);
	EXPECT(contract_ask(fd, "x", NULL, 0, (struct ai_terms){}, 0) == -EINVAL, "%s",
	       ai_sentence);
	EXPECT(contract_ask(fd, "x", many, MAX_MEMORY + 1, (struct ai_terms){}, 0) == -EINVAL,
	       "%s", ai_sentence);
	EXPECT(contract_ask(fd, "x", (void *)8, 1, (struct ai_terms){}, 0) == -EFAULT, "%s",
	       ai_sentence);
	many[0] = many[1] = memory;
	EXPECT(contract_ask(fd, "x", many, 2, (struct ai_terms){}, 0) == -EINVAL, "%s",
	       ai_sentence);
	memory.bytes = 0;
	EXPECT(contract_ask(fd, "x", &memory, 1, (struct ai_terms){}, 0) == -EINVAL, "%s",
	       ai_sentence);
	memory.bytes = -1ULL;
	EXPECT(contract_ask(fd, "x", &memory, 1, (struct ai_terms){}, 0) == -EFBIG, "%s",
	       ai_sentence);
	memory = (struct ai_memory_term){ .device = SIM_FAST, .bytes = PAGE, .la = 1 };
	EXPECT(contract_ask(fd, "x", &memory, 1, (struct ai_terms){}, 0) == -EINVAL, "%s",
	       ai_sentence);
	memory = (struct ai_memory_term){ .device = 200, .bytes = PAGE };
	EXPECT(contract_ask(fd, "x", &memory, 1, (struct ai_terms){}, 0) == -ENOENT, "%s",
	       ai_sentence);
}

static void test_bad_descriptors(void)
{
	struct fixture fix;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), contract;
	AI_ARG(ai_info, info);
	uint64_t la;
	char c;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fix.call.hdr.flags = AI_INFER_CONTRACT;
	fix.call.contract = null;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, "something else");
	fix.call.contract = fix.fd;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, "something else");
	fix.call.contract = 999;
	FAILS(fix.fd, AI_INFER, &fix.call, EBADF, "999");
	fix.call.contract = -1;
	FAILS(fix.fd, AI_INFER, &fix.call, EBADF, "-1");
	EXPECT(contract_alloc(fix.fd, null, AI_DEVICE_SYSTEM, PAGE, &la) == -EINVAL, "%s",
	       ai_sentence);
	/* Terms for one device, a model on another. */
	contract = contract_service(fix.fd, good_terms());
	fix.call.contract = contract;
	FAILS(fix.fd, AI_INFER, &fix.call, EINVAL, "gpu0");
	/* On its own descriptor a contract takes its own calls only. */
	EXPECT(ai_call(contract, AI_INFO, &info) == -ENOTTY, "AI_INFO on a contract");
	EXPECT(read(contract, &c, 1) < 0 && errno == EINVAL, "a read of one byte");
	fcntl(contract, F_SETFL, O_NONBLOCK);
	EXPECT(read(contract, ai_sentence, 64) < 0 && errno == EAGAIN, "no event, not EAGAIN");
}

/* ---- latency ---- */

static void test_admission(void)
{
	struct ai_terms terms = good_terms(), offer;
	int fd = ai_open(), count = 0, contract[100], last;

	/* 1 ms each 4 ms, due in 10 ms: until the device has no room. */
	terms.period_ns = 4 * MS;
	terms.latency_ns = 10 * MS;
	while (count < 100 && !contract_ask(fd, "load", NULL, 0, terms, 0))
		contract[count++] = created.fd;
	EXPECT(count == 3, "%d were admitted, at 25 %% each and 95 %% in all", count);
	EXPECT(created.answer == AI_ANSWER_REFUSED && created.term == AI_TERM_RATE &&
	       created.device == SIM_MEDIUM && created.needed > 1000000 - 10 &&
	       created.available > 940000 && created.available < 950001,
	       "answer %u term %u needed %llu available %llu", created.answer, created.term,
	       (unsigned long long)created.needed, (unsigned long long)created.available);
	EXPECT(created.offered, "no offer");
	offer = created.offer;
	EXPECT(offer.period_ns > 5 * MS && offer.period_ns < 6 * MS, "period %llu",
	       (unsigned long long)offer.period_ns);
	EXPECT(!contract_ask(fd, "offer", NULL, 0, offer, 0), "the offer: %s", ai_sentence);
	last = created.fd;

	/* A deadline that the others' leave no time for. */
	close(contract[0]);
	terms.latency_ns = 3 * MS;
	terms.period_ns = 100 * MS;
	EXPECT(contract_ask(fd, "hurry", NULL, 0, terms, 0) == -EDQUOT, "%s", ai_sentence);
	EXPECT(created.term == AI_TERM_LATENCY && created.needed > created.available &&
	       created.offered && created.offer.latency_ns > 3 * MS, "term %u", created.term);
	EXPECT(!contract_ask(fd, "later", NULL, 0, created.offer, 0), "%s", ai_sentence);
	close(last);
	while (--count > 0)
		close(contract[count]);
	close(created.fd);
	EXPECT(!contract_ask(fd, "hurry", NULL, 0, terms, 0), "what was closed still counts: %s",
	       ai_sentence);
}

/* Without a stated service time that of the model counts, which must have run. */
static void test_measured(void)
{
	struct ai_terms terms = good_terms();
	struct fixture fix;

	fixture_open(&fix, SIM_MEDIUM, MODEL_NULL);
	terms.service_ns = 0;
	terms.model = fix.model;
	terms.latency_ns = SEC;
	terms.period_ns = 5 * SEC;
	EXPECT(contract_ask(fix.fd, "x", NULL, 0, terms, 0) == -EINVAL, "%s", ai_sentence);
	EXPECT(strstr(ai_sentence, "not run yet"), "%s", ai_sentence);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(!contract_ask(fix.fd, "x", NULL, 0, terms, 0), "%s", ai_sentence);
	EXPECT(contract_info(created.fd).terms.service_ns >= MS, "service %llu",
	       (unsigned long long)contract_info(created.fd).terms.service_ns);
	terms.device = SIM_SLOW;
	EXPECT(contract_ask(fix.fd, "x", NULL, 0, terms, 0) == -EINVAL, "%s", ai_sentence);
}

static void *close_later(void *arg)
{
	sleep_ns(300 * MS);
	close(*(int *)arg);
	return NULL;
}

static void test_wait(void)
{
	struct ai_memory_term memory = { .device = SIM_FAST, .bytes = 3 * MiB };
	int fd = ai_open(), first = contract_memory(fd, SIM_FAST, 3 * MiB), second;
	long long begin = now_ns();
	pthread_t thread;

	ASSERT(first > 0, "%s", ai_sentence);
	EXPECT(contract_ask(fd, "x", &memory, 1, (struct ai_terms){}, begin + 200 * MS) == -EDQUOT,
	       "%s", ai_sentence);
	EXPECT(now_ns() - begin >= 200 * MS, "did not wait");
	pthread_create(&thread, NULL, close_later, &first);
	EXPECT(!contract_ask(fd, "x", &memory, 1, (struct ai_terms){}, now_ns() + 50 * SEC), "%s",
	       ai_sentence);
	EXPECT(created.answer == AI_ANSWER_GRANTED_AFTER_WAIT && created.term == AI_TERM_MEMORY,
	       "answer %u term %u", created.answer, created.term);
	pthread_join(thread, NULL);

	/* Of two terms the first is granted and the second is not: no round undoes the wait. */
	struct ai_memory_term two[2] = { { .device = SIM_MEDIUM, .bytes = PAGE },
					 { .device = SIM_OTHER, .bytes = 5 * MiB } };
	struct timespec before, after;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	begin = now_ns();
	EXPECT(contract_ask(fd, "x", two, 2, (struct ai_terms){}, begin + 3 * SEC) == -EDQUOT,
	       "%s", ai_sentence);
	EXPECT(now_ns() - begin >= 3 * SEC, "did not wait");
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	EXPECT((after.tv_sec - before.tv_sec) * SEC + after.tv_nsec - before.tv_nsec < SEC,
	       "waited busily");

	/* The same for time. */
	second = contract_service(fd, (struct ai_terms){ .device = SIM_MEDIUM, .service_ns = MS,
		.period_ns = 2 * MS, .latency_ns = 10 * MS });
	pthread_create(&thread, NULL, close_later, &second);
	EXPECT(!contract_ask(fd, "x", NULL, 0, (struct ai_terms){ .device = SIM_MEDIUM,
		.service_ns = MS, .period_ns = 2 * MS, .latency_ns = 10 * MS },
		now_ns() + 50 * SEC), "%s", ai_sentence);
	EXPECT(created.answer == AI_ANSWER_GRANTED_AFTER_WAIT && created.term == AI_TERM_RATE,
	       "answer %u term %u", created.answer, created.term);
	pthread_join(thread, NULL);
}

static void use_contract(struct fixture *fix, int contract)
{
	fix->call.hdr.flags = AI_INFER_CONTRACT;
	fix->call.contract = contract;
}

/* Behind many others a contract's job waits for one of them at most. */
static void test_isolation(void)
{
	struct waiter crowd[12];
	struct fixture fix, mine;
	struct ai_terms terms = { .device = SIM_SLOW, .service_ns = SIM_SLOW_NS + 5 * MS,
				  .period_ns = 30 * SEC, .latency_ns = 20 * SEC };
	AI_ARG(ai_cancel, cancel, .cookie = 1);
	struct ai_contract_info info;
	int contract, i;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	contract = contract_service(fix.fd, terms);
	sim_set("hang", "1"); /* the first of the others keeps all of them waiting */
	for (i = 0; i < (int)ARRAY_SIZE(crowd); i++) {
		waiter_init(&crowd[i], &fix);
		crowd[i].fix.call.priority = 7;
		crowd[i].fix.call.cookie = i == 0;
		waiter_start(&crowd[i]);
		if (!i)
			device_wait_queued(fix.fd, SIM_SLOW, 1);
	}
	device_wait_queued(fix.fd, SIM_SLOW, ARRAY_SIZE(crowd));
	fixture_again(&mine, &fix);
	use_contract(&mine, contract);
	WORKS(mine.fd, AI_INFER, &mine.call);
	EXPECT(mine.call.service == AI_SERVICE_MET && !mine.call.broken,
	       "service %u broken 0x%x latency %llu", mine.call.service, mine.call.broken,
	       (unsigned long long)mine.call.latency_ns);
	/* One of them is with the device, and none has ended. */
	EXPECT(ai_device(fix.fd, SIM_SLOW).queued == ARRAY_SIZE(crowd), "%u are left",
	       ai_device(fix.fd, SIM_SLOW).queued);
	WORKS(fix.fd, AI_CANCEL, &cancel);
	for (i = 0; i < (int)ARRAY_SIZE(crowd); i++) {
		waiter_join(&crowd[i]);
		EXPECT(crowd[i].ret == (i ? 0 : -ECANCELED) && crowd[i].fix.call.service == AI_SERVICE_NONE, "crowd: %s",
		       crowd[i].sentence);
	}
	info = contract_info(contract);
	EXPECT(info.jobs == 1 && info.met == 1 && !info.violated && !info.failed && !info.excess &&
	       info.run_ns >= SIM_SLOW_NS && info.bytes == 128 && info.latency_max_ns &&
	       info.latency_p50_ns == info.latency_max_ns &&
	       info.latency_p999_ns == info.latency_max_ns,
	       "jobs %llu met %llu run %llu bytes %llu p50 %llu max %llu",
	       (unsigned long long)info.jobs, (unsigned long long)info.met,
	       (unsigned long long)info.run_ns, (unsigned long long)info.bytes,
	       (unsigned long long)info.latency_p50_ns, (unsigned long long)info.latency_max_ns);
	EXPECT(info.energy_uj && info.energy_uj == mine.call.energy_uj, "energy %llu",
	       (unsigned long long)info.energy_uj);
}

/* What comes sooner than agreed is served, but has no claim. */
static void test_excess(void)
{
	struct ai_terms terms = { .device = SIM_FAST, .service_ns = 200 * MS, .burst = 2,
				  .period_ns = 30 * SEC, .latency_ns = 5 * SEC };
	struct ai_contract_info info;
	struct fixture fix;
	int contract, i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	contract = contract_service(fix.fd, terms);
	for (i = 0; i < 5; i++) {
		use_contract(&fix, contract);
		WORKS(fix.fd, AI_INFER, &fix.call);
		EXPECT(fix.call.service == (i < 2 ? AI_SERVICE_MET : AI_SERVICE_EXCESS),
		       "request %d: service %u", i, fix.call.service);
	}
	info = contract_info(contract);
	EXPECT(info.met == 2 && info.excess == 3, "met %llu excess %llu",
	       (unsigned long long)info.met, (unsigned long long)info.excess);
}

/* Closing and asking again gives nobody a second burst while the first is not served. */
static void test_ghost(void)
{
	struct ai_terms terms = { .device = SIM_SLOW, .service_ns = 60 * MS, .burst = 3,
				  .period_ns = 60 * SEC, .latency_ns = 300 * MS };
	AI_ARG(ai_cancel, cancel, .cookie = 9);
	struct waiter waiter[2];
	struct fixture fix;
	int contract, i;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	close(contract_service(fix.fd, terms));
	/* Nothing was sent. */
	contract = contract_service(fix.fd, terms);
	sim_set("hang", "2");
	for (i = 0; i < 2; i++) {
		waiter_init(&waiter[i], &fix);
		waiter[i].fix.call.cookie = 9;
		use_contract(&waiter[i].fix, contract);
		waiter_start(&waiter[i]);
	}
	device_wait_queued(fix.fd, SIM_SLOW, 2);
	close(contract);
	EXPECT(contract_ask(fix.fd, "x", NULL, 0, terms, 0) == -EDQUOT, "%s", ai_sentence);
	EXPECT(created.term == AI_TERM_LATENCY, "term %u", created.term);
	WORKS(fix.fd, AI_CANCEL, &cancel);
	for (i = 0; i < 2; i++)
		waiter_join(&waiter[i]);
	contract_service(fix.fd, terms);
}

/* ---- violations and the fuse ---- */

/* A contract that understates what its requests take, so that each is late. */
static struct ai_terms late_terms(void)
{
	return (struct ai_terms){ .device = SIM_SLOW, .service_ns = 10 * MS, .period_ns = 11 * MS,
				  .latency_ns = 15 * MS, .fuse_ns = 400 * MS };
}

static int late_request(struct fixture *fix, int contract)
{
	int ret;

	fixture_reset(fix);
	use_contract(fix, contract);
	ret = ai_call(fix->fd, AI_INFER, &fix->call);
	/* What it took too long counts as requests, too: let them pass. */
	sleep_ns(40 * MS);
	return ret;
}

static void test_violation(void)
{
	struct ai_terms terms = late_terms();
	struct ai_contract_info info;
	struct ai_event event;
	struct fixture fix;
	int contract;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	terms.energy_uj = 1;
	terms.power_mw = 1;
	contract = contract_service(fix.fd, terms);
	EXPECT(!late_request(&fix, contract), "%s", ai_sentence);
	EXPECT(fix.call.service == AI_SERVICE_VIOLATED &&
	       fix.call.broken == (1U << AI_TERM_LATENCY | 1U << AI_TERM_ENERGY |
				   1U << AI_TERM_POWER),
	       "service %u broken 0x%x", fix.call.service, fix.call.broken);
	EXPECT(contract_event(contract, AI_EVENT_ENERGY, &event), "no event");
	EXPECT(event.sequence == 1 && event.job == fix.call.record.job && event.limit == 1 &&
	       event.found == fix.call.energy_uj && event.device == SIM_SLOW, "found %llu",
	       (unsigned long long)event.found);
	EXPECT(!late_request(&fix, contract), "%s", ai_sentence);
	EXPECT(contract_event(contract, AI_EVENT_LATENCY, &event), "no event");
	EXPECT(event.found == fix.call.latency_ns && event.limit == 15 * MS, "found %llu",
	       (unsigned long long)event.found);
	info = contract_info(contract);
	EXPECT(info.violated == 2 && info.overruns == 2 && info.events == 6, "violated %llu",
	       (unsigned long long)info.violated);
}

static void test_fuse_late(void)
{
	AI_ARG(ai_fuse_reset, reset, .name = "service");
	struct ai_event events[64];
	struct ai_contract_info info;
	struct fixture fix;
	int contract, i, count;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	contract = contract_service(fix.fd, late_terms());
	for (i = 0; i < 10; i++) {
		EXPECT(contract_info(contract).fuse == AI_FUSE_CLOSED, "open after %d", i);
		EXPECT(!late_request(&fix, contract), "%s", ai_sentence);
	}
	EXPECT(late_request(&fix, contract) == -EAGAIN && strstr(ai_sentence, "fuse"), "%s",
	       ai_sentence);
	EXPECT(!fix.call.record.job || fix.call.service == AI_SERVICE_NONE, "it ran");
	info = contract_info(contract);
	EXPECT(info.fuse == AI_FUSE_OPEN && info.refused == 1 && info.fuse_left_ns <= 400 * MS,
	       "fuse %u left %llu", info.fuse, (unsigned long long)info.fuse_left_ns);
	/* A probe, which is as late as the others. */
	sleep_ns(400 * MS);
	EXPECT(!late_request(&fix, contract), "%s", ai_sentence);
	EXPECT(late_request(&fix, contract) == -EAGAIN, "%s", ai_sentence);
	reset.name[0] = 'S';
	FAILS(fix.fd, AI_FUSE_RESET, &reset, ENOENT, "Service");
	reset.name[0] = 's';
	WORKS(fix.fd, AI_FUSE_RESET, &reset);
	EXPECT(reset.closed == 1, "%u closed", reset.closed);
	EXPECT(!late_request(&fix, contract), "%s", ai_sentence);

	count = contract_events(contract, events, 64);
	EXPECT(count == 10 + 1 + 3 + 1 + 1, "%d events", count);
	EXPECT(events[10].kind == AI_EVENT_FUSE_OPENED && events[10].found == 10 &&
	       events[10].limit == 400 * MS && events[11].kind == AI_EVENT_FUSE_HALF_OPENED &&
	       events[12].kind == AI_EVENT_LATENCY && events[13].kind == AI_EVENT_FUSE_OPENED &&
	       events[14].kind == AI_EVENT_FUSE_CLOSED && events[15].kind == AI_EVENT_LATENCY,
	       "kinds %u %u %u %u %u %u", events[10].kind, events[11].kind, events[12].kind,
	       events[13].kind, events[14].kind, events[15].kind);
}

static void test_fuse_failed(void)
{
	struct ai_terms terms = { .device = SIM_OTHER, .service_ns = MS, .period_ns = 2 * MS,
				  .latency_ns = 2 * SEC, .fuse_ns = 100 * MS };
	struct ai_contract_info info;
	struct waiter waiter;
	struct fixture fix;
	int contract, i;

	fixture_open(&fix, SIM_OTHER, MODEL_NULL);
	contract = contract_service(fix.fd, terms);
	sim_set("fail", "%d", 9);
	for (i = 0; i < 10; i++) {
		use_contract(&fix, contract);
		EXPECT(ai_call(fix.fd, AI_INFER, &fix.call) == (i < 9 ? -EIO : 0), "%d: %s", i,
		       ai_sentence);
	}
	EXPECT(contract_info(contract).fuse == AI_FUSE_CLOSED, "nine do not open it");
	sim_set("fail", "%d", 10);
	for (i = 0; i < 10; i++)
		EXPECT(ai_call(fix.fd, AI_INFER, &fix.call) == -EIO, "%s", ai_sentence);
	EXPECT(contract_info(contract).fuse == AI_FUSE_OPEN, "ten do");
	sleep_ns(100 * MS);

	/* While a probe is under way nobody else passes; cancelled it tells nothing. */
	sim_set("hang", "%d", 1);
	waiter_init(&waiter, &fix);
	waiter.fix.call.cookie = 5;
	use_contract(&waiter.fix, contract);
	waiter_start(&waiter);
	device_wait_queued(fix.fd, SIM_OTHER, 1);
	EXPECT(contract_info(contract).fuse == AI_FUSE_HALF_OPEN, "not half open");
	EXPECT(ai_call(fix.fd, AI_INFER, &fix.call) == -EAGAIN && strstr(ai_sentence, "probe"),
	       "%s", ai_sentence);
	AI_ARG(ai_cancel, cancel, .cookie = 5);
	WORKS(fix.fd, AI_CANCEL, &cancel);
	waiter_join(&waiter);
	EXPECT(contract_info(contract).fuse == AI_FUSE_OPEN, "not open");
	WORKS(fix.fd, AI_INFER, &fix.call);
	info = contract_info(contract);
	EXPECT(info.fuse == AI_FUSE_CLOSED && info.failed == 20 && info.jobs == 2 &&
	       info.refused == 1, "fuse %u failed %llu jobs %llu refused %llu", info.fuse,
	       (unsigned long long)info.failed, (unsigned long long)info.jobs,
	       (unsigned long long)info.refused);
}

struct racer {
	int fd, contract;
	uint32_t model;
	int seconds;
};

/* Many requests while the fuse opens and closes: each passes or is told why not. */
static void *fuse_race(void *arg)
{
	struct racer *racer = arg;
	struct ai_alloc memory = ai_get_mapped(racer->fd, PAGE);
	long long end = now_ns() + racer->seconds * SEC;

	while (now_ns() < end) {
		struct ai_tensor in = { .la = memory.la, .bytes = 64, .dtype = AI_DTYPE_FLOAT,
					.rank = 2, .dims = { 1, 16 } };
		struct ai_tensor out = { .la = memory.la, .offset = 64, .bytes = 64 };
		AI_ARG(ai_infer, call, .inputs = (uintptr_t)&in, .outputs = (uintptr_t)&out,
		       .nr_inputs = 1, .nr_outputs = 1, .model = racer->model,
		       .contract = racer->contract);
		int ret;

		call.hdr.flags = AI_INFER_CONTRACT;
		ret = ai_call(racer->fd, AI_INFER, &call);
		EXPECT(!ret || ret == -EIO || ret == -EAGAIN, "%s: %s", strerror(-ret),
		       ai_sentence);
	}
	return NULL;
}

static void test_fuse_race(void)
{
	struct ai_terms terms = { .device = SIM_OTHER, .service_ns = MS, .period_ns = 2 * MS,
				  .latency_ns = 5 * SEC, .fuse_ns = MS };
	AI_ARG(ai_fuse_reset, reset, .name = "service");
	struct racer racer;
	struct ai_contract_info info;
	struct fixture fix;
	pthread_t thread[6];
	int i;

	fixture_open(&fix, SIM_OTHER, MODEL_NULL);
	racer = (struct racer){ fix.fd, contract_service(fix.fd, terms), fix.model, 3 };
	for (i = 0; i < 6; i++)
		pthread_create(&thread[i], NULL, fuse_race, &racer);
	for (i = 0; i < 30; i++) {
		sim_set("fail", "%d", 40);
		sleep_ns(50 * MS);
		sim_set("fail", "%d", 0);
		WORKS(fix.fd, AI_FUSE_RESET, &reset);
		sleep_ns(50 * MS);
	}
	for (i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	sleep_ns(10 * MS);
	use_contract(&fix, racer.contract);
	WORKS(fix.fd, AI_INFER, &fix.call);
	info = contract_info(racer.contract);
	EXPECT(info.fuse == AI_FUSE_CLOSED, "fuse %u", info.fuse);
	EXPECT(info.refused && info.failed && info.jobs, "refused %llu failed %llu jobs %llu",
	       (unsigned long long)info.refused, (unsigned long long)info.failed,
	       (unsigned long long)info.jobs);
	EXPECT(info.events >= info.failed, "%llu events", (unsigned long long)info.events);
}

static void test_lost_events(void)
{
	struct ai_terms terms = { .device = SIM_FAST, .power_mw = 1 };
	struct ai_event events[64];
	struct ai_contract_info info;
	struct fixture fix;
	int contract, i, count;

	fixture_open(&fix, SIM_FAST, MODEL_NULL);
	contract = contract_service(fix.fd, terms);
	use_contract(&fix, contract);
	for (i = 0; i < 1000; i++)
		if (ai_call(fix.fd, AI_INFER, &fix.call))
			EXPECT(false, "%s", ai_sentence);
	info = contract_info(contract);
	EXPECT(info.events == 1000 && info.events_lost == 1000 - 32, "%llu events, %llu lost",
	       (unsigned long long)info.events, (unsigned long long)info.events_lost);
	count = contract_events(contract, events, 10);
	EXPECT(count == 10 && events[0].sequence == 969, "%d, first %llu", count,
	       (unsigned long long)events[0].sequence);
	count = contract_events(contract, events, 64);
	EXPECT(count == 22 && events[21].sequence == 1000, "%d", count);
	EXPECT(!contract_events(contract, events, 64), "more");
}

/* ---- lapsing ---- */

static void test_lapse(void)
{
	struct ai_memory_term memory = { .device = SIM_FAST, .bytes = 2 * MiB };
	struct ai_terms terms = { .lapse_ns = 200 * MS };
	AI_ARG(ai_contract_renew, renew);
	int fd = ai_open(), contract, ret;
	struct pollfd pfd = { .events = POLLIN };
	long long freed;
	struct ai_event event;
	uint64_t la;

	ret = contract_ask(fd, "lapse", &memory, 1, terms, 0);
	ASSERT(!ret, "%s", ai_sentence);
	contract = pfd.fd = created.fd;
	/* In use it does not lapse. */
	EXPECT(!contract_alloc(fd, contract, SIM_FAST, PAGE, &la), "%s", ai_sentence);
	EXPECT(poll(&pfd, 1, 600) == 0, "lapsed while in use");
	freed = now_ns();
	EXPECT(!ai_free_la(fd, la), "%s", ai_sentence);
	EXPECT(poll(&pfd, 1, 20000) == 1, "did not lapse");
	EXPECT(contract_event(contract, AI_EVENT_LAPSED, &event) && event.limit == 200 * MS &&
	       event.found >= 200 * MS, "no event");
	EXPECT(event.time_ns - freed >= 200 * MS, "lapsed %lld ns after it was used",
	       (long long)event.time_ns - freed);
	EXPECT(contract_info(contract).state == AI_CONTRACT_LAPSED, "state");
	EXPECT(ai_device(fd, SIM_FAST).mem_free == SIM_MEMORY_BYTES, "still reserved");
	EXPECT(contract_alloc(fd, contract, SIM_FAST, PAGE, &la) == -ESTALE, "%s", ai_sentence);

	/* Somebody else has taken it; then not any more. */
	ret = contract_memory(fd, SIM_FAST, 3 * MiB);
	EXPECT(ai_call(contract, AI_CONTRACT_RENEW, &renew) == -EDQUOT, "%s", ai_sentence);
	EXPECT(renew.answer == AI_ANSWER_REFUSED && renew.term == AI_TERM_MEMORY &&
	       renew.device == SIM_FAST && renew.needed == 2 * MiB && renew.available == MiB,
	       "answer %u", renew.answer);
	close(ret);
	renew = (struct ai_contract_renew){ .hdr = renew.hdr };
	EXPECT(!ai_call(contract, AI_CONTRACT_RENEW, &renew), "%s", ai_sentence);
	EXPECT(renew.answer == AI_ANSWER_GRANTED, "answer %u", renew.answer);
	EXPECT(contract_event(contract, AI_EVENT_RENEWED, &event), "no event");
	EXPECT(!contract_alloc(fd, contract, SIM_FAST, 2 * MiB, &la), "%s", ai_sentence);
}

static void *lapse_race(void *arg)
{
	struct racer *racer = arg;
	long long end = now_ns() + racer->seconds * SEC;
	int allocated = 0, stale = 0;

	while (now_ns() < end) {
		uint64_t la;
		int ret = contract_alloc(racer->fd, racer->contract, SIM_FAST, PAGE, &la);

		EXPECT(!ret || ret == -ESTALE, "%s: %s", strerror(-ret), ai_sentence);
		if (ret) {
			AI_ARG(ai_contract_renew, renew);

			stale++;
			ret = ai_call(racer->contract, AI_CONTRACT_RENEW, &renew);
			EXPECT(!ret, "%s", ai_sentence);
			continue;
		}
		allocated++;
		ai_free_la(racer->fd, la);
		sleep_ns(random_next((uint64_t[]){ now_ns() | 1 }) % 40 * MS);
	}
	EXPECT(allocated, "nothing was allocated");
	return NULL;
}

static void test_lapse_race(void)
{
	struct ai_memory_term memory = { .device = SIM_FAST, .bytes = 2 * MiB };
	struct ai_terms terms = { .lapse_ns = 10 * MS };
	struct racer racer = { .fd = ai_open(), .seconds = 4 };
	pthread_t thread[3];
	int i;

	ASSERT(!contract_ask(racer.fd, "race", &memory, 1, terms, 0), "%s", ai_sentence);
	racer.contract = created.fd;
	for (i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, lapse_race, &racer);
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	close(racer.contract);
	EXPECT(ai_device(racer.fd, SIM_FAST).mem_free == SIM_MEMORY_BYTES, "free: %llu",
	       (unsigned long long)ai_device(racer.fd, SIM_FAST).mem_free);
}

/* ---- descriptors and processes ---- */

static void send_fd(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {};
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	ASSERT(sendmsg(socket, &msg, 0) == 1, "sendmsg: %s", strerror(errno));
}

static int receive_fd(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	ASSERT(recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) == 1, "recvmsg: %s", strerror(errno));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Another process, which was sent the descriptor, uses the contract. */
static void test_passed(void)
{
	int pair[2], contract, status;
	struct ai_contract_info info;
	struct fixture fix;
	pid_t pid;

	ASSERT(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	pid = fork();
	if (!pid) {
		uint64_t la;

		contract = receive_fd(pair[1]);
		fixture_open(&fix, SIM_FAST, MODEL_COPY);
		use_contract(&fix, contract);
		WORKS(fix.fd, AI_INFER, &fix.call);
		EXPECT(fix.call.service == AI_SERVICE_MET, "service %u", fix.call.service);
		EXPECT(!contract_alloc(fix.fd, contract, SIM_FAST, 3 * MiB, &la), "%s",
		       ai_sentence);
		EXPECT(contract_info(contract).jobs == 1, "jobs");
		_exit(0);
	}
	fix.fd = ai_open();
	contract = contract_memory(fix.fd, SIM_FAST, 3 * MiB);
	ASSERT(contract > 0, "%s", ai_sentence);
	send_fd(pair[0], contract);
	waitpid(pid, &status, 0);
	EXPECT(!status, "the other process failed");
	info = contract_info(contract);
	EXPECT(info.jobs == 1 && info.met == 1, "%llu jobs", (unsigned long long)info.jobs);
}

/* A child that inherits it and ends takes nothing away; the last one does. */
static void test_fork(void)
{
	int fd = ai_open(), contract = contract_memory(fd, SIM_FAST, 3 * MiB), status;
	uint64_t free_bytes = ai_device(fd, SIM_FAST).mem_free;
	pid_t pid = fork();

	if (!pid) {
		EXPECT(!contract_info(contract).jobs, "jobs");
		close(contract);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT(ai_device(fd, SIM_FAST).mem_free == free_bytes, "released by a child");
	EXPECT(fcntl(contract, F_GETFD) & FD_CLOEXEC, "is inherited by programs");
	pid = fork();
	if (!pid) {
		sleep_ns(300 * MS);
		_exit(0);
	}
	close(contract);
	EXPECT(ai_device(fd, SIM_FAST).mem_free == free_bytes, "released with a user left");
	waitpid(pid, &status, 0);
	EXPECT(ai_device(fd, SIM_FAST).mem_free == SIM_MEMORY_BYTES, "not released");
}

static void test_closed_while_running(void)
{
	struct ai_terms terms = { .device = SIM_SLOW, .service_ns = 60 * MS, .period_ns = SEC,
				  .latency_ns = SEC };
	struct waiter waiter[3];
	struct fixture fix;
	int contract, i;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	contract = contract_service(fix.fd, terms);
	for (i = 0; i < 3; i++) {
		waiter_init(&waiter[i], &fix);
		use_contract(&waiter[i].fix, contract);
		waiter_start(&waiter[i]);
	}
	device_wait_queued(fix.fd, SIM_SLOW, 2);
	close(contract);
	for (i = 0; i < 3; i++) {
		waiter_join(&waiter[i]);
		/* The last one may not have begun when it was closed. */
		EXPECT(!waiter[i].ret || waiter[i].ret == -EBADF, "%s: %s",
		       strerror(-waiter[i].ret), waiter[i].sentence);
	}
	EXPECT(!contract_ask(fix.fd, "again", NULL, 0, terms, 0), "%s", ai_sentence);
}

static void test_device_lost(void)
{
	struct ai_memory_term memory = { .device = SIM_OTHER, .bytes = PAGE };
	struct ai_terms terms = { .device = SIM_SLOW, .service_ns = MS, .period_ns = SEC,
				  .latency_ns = SEC };
	AI_ARG(ai_contract_renew, renew);
	struct ai_event event;
	int fd = ai_open(), contract;
	uint64_t la;

	ASSERT(!contract_ask(fd, "lost", &memory, 1, terms, 0), "%s", ai_sentence);
	contract = created.fd;
	ASSERT(!module_unload("ai_sim"), "unloading: %s", strerror(errno));
	EXPECT(contract_event(contract, AI_EVENT_DEVICE_LOST, &event) && event.device == SIM_SLOW,
	       "no event");
	EXPECT(contract_alloc(fd, contract, SIM_OTHER, PAGE, &la) == -ENOENT, "%s", ai_sentence);
	EXPECT(!ai_call(contract, AI_CONTRACT_RENEW, &renew), "%s", ai_sentence);
	EXPECT(contract_info(contract).state == AI_CONTRACT_ACTIVE, "state");
	ASSERT(!sim_ensure(), "loading");
	/* Other devices with the same numbers are not those of the contract. */
	EXPECT(contract_alloc(fd, contract, SIM_OTHER, PAGE, &la) == -EDQUOT, "%s", ai_sentence);
	close(contract);
	EXPECT(ai_device(fd, SIM_OTHER).mem_free == SIM_MEMORY_BYTES, "free: %llu",
	       (unsigned long long)ai_device(fd, SIM_OTHER).mem_free);
}

/* ---- who sees what ---- */

static int walk(int fd, const char *name)
{
	AI_ARG(ai_contract_info, info);
	uint64_t last = 0;
	int found = 0;

	info.hdr.flags = AI_CONTRACT_NEXT;
	while (!ai_call(fd, AI_CONTRACT_QUERY, &info)) {
		EXPECT(info.id > last || !last, "id %llu after %llu", (unsigned long long)info.id,
		       (unsigned long long)last);
		last = info.id;
		found += !strcmp(info.name, name);
		info.id++;
	}
	return found;
}

static void test_query(void)
{
	struct ai_memory_term memory = { .bytes = PAGE }, out[2];
	AI_ARG(ai_contract_info, info, .memory = (uintptr_t)out, .capacity = 2);
	int fd = ai_open(), contract[3], i, status;
	char line[200], path[64];
	bool named = false;
	FILE *file;
	pid_t pid;

	for (i = 0; i < 3; i++) {
		ASSERT(!contract_ask(fd, "walked", &memory, 1, (struct ai_terms){}, 0), "%s",
		       ai_sentence);
		contract[i] = created.fd;
	}
	EXPECT(walk(fd, "walked") == 3, "%d found", walk(fd, "walked"));
	info.id = created.id;
	WORKS(fd, AI_CONTRACT_QUERY, &info);
	EXPECT(info.nr_memory == 1 && out[0].bytes == PAGE && !out[0].used && out[0].pages,
	       "%u of memory", info.nr_memory);
	info.memory = 8;
	FAILS(fd, AI_CONTRACT_QUERY, &info, EFAULT, "memory");
	info.memory = 0;
	info.capacity = 0;
	info.id = 1ULL << 40;
	FAILS(fd, AI_CONTRACT_QUERY, &info, ENOENT, "1099511627776");
	info.id = 1;
	FAILS(contract[0], AI_CONTRACT_QUERY, &info, EINVAL, "must be 0");

	pid = fork();
	if (!pid) {
		AI_ARG(ai_fuse_reset, reset, .name = "walked");

		if (setresuid(12345, 12345, 12345))
			_exit(1);
		/* The open file is still there, the contracts are another user's. */
		EXPECT(walk(fd, "walked") == 0, "seen by another user");
		EXPECT(contract_info(contract[0]).id, "the descriptor is enough");
		FAILS(fd, AI_FUSE_RESET, &reset, EPERM, "CAP_SYS_ADMIN");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT(!status, "the other user's process failed");

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", contract[1]);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		named |= !strcmp(line, "ai-name:\twalked\n");
	EXPECT(named, "fdinfo does not name it");
	fclose(file);
}

/* As many as there can be descriptors: all go again. */
static void test_many(void)
{
	struct ai_terms terms = { .device = SIM_MEDIUM, .service_ns = 2000, .period_ns = 10 * SEC,
				  .latency_ns = 10 * SEC };
	static int contract[900];
	int fd = ai_open(), i, count = tap_less(ARRAY_SIZE(contract));

	for (i = 0; i < count; i++) {
		ASSERT(!contract_ask(fd, "many", NULL, 0, terms, 0), "%d: %s", i, ai_sentence);
		contract[i] = created.fd;
	}
	EXPECT(walk(fd, "many") == count, "%d found", walk(fd, "many"));
	for (i = 0; i < count; i++)
		close(contract[i]);
	EXPECT(!walk(fd, "many"), "some are left");
}

static const struct tap_test tests[] = {
	{ "reserved device memory is there, and nobody else's", test_memory, 0 },
	{ "reservations count, not use; all or nothing", test_memory_refused, 0 },
	{ "reserved device memory that is cut up", test_cut_up_device, 120 },
	{ "reserved system memory that is cut up", test_cut_up_system, 240 },
	{ "reserved pages are zeroed and can be mapped", test_reserved_pages, 0 },
	{ "terms that cannot be", test_bad_terms, 0 },
	{ "descriptors that are no contract", test_bad_descriptors, 0 },
	{ "latency: admitted, refused with an offer, free again", test_admission, 0 },
	{ "latency: the measured service time", test_measured, 0 },
	{ "a refusal is waited for", test_wait, 120 },
	{ "a contract's job goes before all others", test_isolation, 0 },
	{ "requests that come too soon", test_excess, 0 },
	{ "closing and asking again gives no second burst", test_ghost, 0 },
	{ "violations of latency, energy and power", test_violation, 0 },
	{ "the fuse: late requests", test_fuse_late, 0 },
	{ "the fuse: failed requests and probes", test_fuse_failed, 0 },
	{ "the fuse: races", test_fuse_race, 0 },
	{ "thousands of unread events", test_lost_events, 0 },
	{ "a reservation lapses and is renewed", test_lapse, 0 },
	{ "a reservation lapses while allocations race it", test_lapse_race, 0 },
	{ "a descriptor sent to another process", test_passed, 0 },
	{ "fork", test_fork, 0 },
	{ "closed with jobs running", test_closed_while_running, 0 },
	{ "the device goes", test_device_lost, 0 },
	{ "who sees which contracts", test_query, 0 },
	{ "many contracts", test_many, 120 },
};

TAP_MAIN(tests)
