// SPDX-License-Identifier: GPL-2.0-only
/* Contracts: reserved memory, terms that cannot be, lapsing, descriptors, who sees what. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "contract_test.h"

#define MAX_MEMORY AI_MAX_CONTRACT_MEMORY

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
	BAD(EINVAL, reserved, 1);
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
