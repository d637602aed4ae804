// SPDX-License-Identifier: GPL-2.0-only
/* Contracts: admission of latency, order on the device, violations, events, the fuse. */
#define _GNU_SOURCE
#include "contract_test.h"

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
	AI_ARG(ai_contract_events, peek, .events = (uintptr_t)events, .capacity = 3);
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
	peek.id = info.id;
	ASSERT(!ai_call(fix.fd, AI_CONTRACT_EVENTS, &peek), "%s", ai_sentence);
	EXPECT(peek.count == 3 && events[0].sequence == 969 && events[2].sequence == 971,
	       "%u, first %llu", peek.count, (unsigned long long)events[0].sequence);
	peek.after = 998;
	peek.capacity = 64;
	ASSERT(!ai_call(fix.fd, AI_CONTRACT_EVENTS, &peek), "%s", ai_sentence);
	EXPECT(peek.count == 2 && events[1].sequence == 1000, "%u", peek.count);
	peek.after = -1ULL;
	ASSERT(!ai_call(fix.fd, AI_CONTRACT_EVENTS, &peek), "%s", ai_sentence);
	EXPECT(!peek.count, "%u", peek.count);

	count = contract_events(contract, events, 10);
	EXPECT(count == 10 && events[0].sequence == 969, "%d, first %llu", count,
	       (unsigned long long)events[0].sequence);
	count = contract_events(contract, events, 64);
	EXPECT(count == 22 && events[21].sequence == 1000, "%d", count);
	EXPECT(!contract_events(contract, events, 64), "more");
}

static const struct tap_test tests[] = {
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
};

TAP_MAIN(tests)
