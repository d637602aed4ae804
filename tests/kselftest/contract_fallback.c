// SPDX-License-Identifier: GPL-2.0-only
/* Contracts: what gives way: fallback, precision, fault class, heat. */
#define _GNU_SOURCE
#include "contract_test.h"

/* Number of a device for ai_sim's parameter unplug. */
#define SIM_FAST_INDEX "0"
#define SIM_OTHER_INDEX "3"

#define MODEL_WIDE "ai-sim-model 1\nop copy\nin x 1 1 32\nout y 1 1 32\n"
#define MODEL_TWO "ai-sim-model 1\nin x 1 1 16\nin z 1 1 16\nout y 1 1 16\n"

static uint32_t load_precise(int fd, uint32_t device, const char *text, uint32_t precision)
{
	AI_ARG(ai_model_load, arg, .data = (uintptr_t)text, .bytes = strlen(text),
	       .device = device, .format = AI_FORMAT_ONNX, .name = "precise",
	       .precision = precision);

	ASSERT(!ai_call(fd, AI_MODEL_LOAD, &arg), "%s", ai_sentence);
	return arg.model;
}

/* Its requests run on SIM_FAST, or else on SIM_OTHER. */
static struct ai_terms fallback_terms(const struct fixture *fix, uint32_t fallback_model)
{
	return (struct ai_terms){ .device = SIM_FAST, .model = fix->model,
				  .fallback = AI_FALLBACK_WARN, .fallback_model = fallback_model,
				  .fuse_ns = 300 * MS };
}

static int request(struct fixture *fix, int contract)
{
	fixture_reset(fix);
	use_contract(fix, contract);
	memset(fix->y, 0, 64);
	return ai_call(fix->fd, AI_INFER, &fix->call);
}

/* The request was served there, and said so. */
static void served(struct fixture *fix, uint32_t device, uint32_t service, uint32_t moved)
{
	EXPECT(fix->call.record.device == device && fix->call.service == service &&
	       fix->call.moved == moved, "device %u service %u moved %u",
	       fix->call.record.device, fix->call.service, fix->call.moved);
	EXPECT(!memcmp(fix->x, fix->y, 64), "the outputs are not right");
}

static void event_is(const struct ai_event *event, uint32_t kind, uint32_t term, uint32_t other)
{
	EXPECT(event->kind == kind && event->term == term && event->other == other,
	       "kind %u term %u other %u, not %u %u %u", event->kind, event->term, event->other,
	       kind, term, other);
}

static void test_bad_terms(void)
{
	uint32_t other, wide, two, same;
	struct fixture fix;
	struct ai_terms terms;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	other = ai_load(fix.fd, SIM_OTHER, MODEL_COPY);
	wide = ai_load(fix.fd, SIM_OTHER, MODEL_WIDE);
	two = ai_load(fix.fd, SIM_OTHER, MODEL_TWO);
	same = ai_load(fix.fd, SIM_FAST, MODEL_COPY);
	terms = fallback_terms(&fix, other);
	EXPECT(!contract_ask(fix.fd, "good", NULL, 0, terms, 0), "%s", ai_sentence);

#define BAD(field, value, word)                                                            \
	do {                                                                               \
		terms = fallback_terms(&fix, other);                                       \
		terms.field = value;                                                       \
		EXPECT(contract_ask(fix.fd, "bad", NULL, 0, terms, 0) < 0, #field);        \
		EXPECT(strstr(ai_sentence, word), "%s", ai_sentence);                      \
	} while (0)
	BAD(fallback, 3, "fallback is 3");
	BAD(fallback, AI_FALLBACK_FORBID, "fallback is 0");
	BAD(fallback_model, 0, "fallback_model");
	BAD(fallback_model, 12345, "12345");
	BAD(fallback_model, same, "another device");
	BAD(fallback_model, wide, "type or shape");
	BAD(fallback_model, two, "inputs");
	BAD(model, 0, "model");
	BAD(model, other, "is on");
	BAD(flags, 1U << 2, "flags");
	BAD(precision, 8, "precision is 8");
	BAD(precision, AI_PRECISION_FP16, "precision of model");
	BAD(share, 1000001, "share is 1000001");
	BAD(bandwidth, 1ULL << 40, "bandwidth is");
#undef BAD
	terms = (struct ai_terms){ .device = SIM_FAST, .flags = AI_TERMS_CRITICAL };
	EXPECT(contract_ask(fix.fd, "bad", NULL, 0, terms, 0) == -EINVAL, "%s", ai_sentence);
	terms = good_terms();
	terms.share = 1000;
	EXPECT(contract_ask(fix.fd, "bad", NULL, 0, terms, 0) == -EINVAL, "%s", ai_sentence);
	terms = (struct ai_terms){ .device = SIM_FAST, .share = 1000 };
	EXPECT(contract_ask(fix.fd, "bad", NULL, 0, terms, 0) == -EINVAL, "%s", ai_sentence);
	EXPECT(strstr(ai_sentence, "service_ns"), "%s", ai_sentence);
}

/* A model that is less precise stands in only if that is allowed. */
static void test_precision(void)
{
	uint32_t fp32, fp16, int8;
	struct ai_model_load bad = { .precision = 8 };
	AI_ARG(ai_model_info, model_info);
	struct ai_event event;
	struct ai_terms terms;
	struct fixture fix;
	int contract;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	fp32 = load_precise(fix.fd, SIM_FAST, MODEL_COPY, AI_PRECISION_FP32);
	fp16 = load_precise(fix.fd, SIM_OTHER, MODEL_COPY, AI_PRECISION_FP16);
	int8 = load_precise(fix.fd, SIM_OTHER, MODEL_COPY, AI_PRECISION_INT8);
	model_info.model = fp16;
	WORKS(fix.fd, AI_MODEL_INFO, &model_info);
	EXPECT(model_info.precision == AI_PRECISION_FP16, "precision %u", model_info.precision);
	bad.hdr = (struct ai_hdr)AI_HDR(struct ai_model_load);
	FAILS(fix.fd, AI_MODEL_LOAD, &bad, EINVAL, "precision");

	terms = (struct ai_terms){ .device = SIM_OTHER, .precision = AI_PRECISION_FP16 };
	contract = contract_service(fix.fd, terms);
	fix.model = fp16;
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	fix.model = int8;
	EXPECT(request(&fix, contract) == -EINVAL && strstr(ai_sentence, "precision"), "%s",
	       ai_sentence);

	fix.model = fp32;
	terms = fallback_terms(&fix, fp16);
	EXPECT(contract_ask(fix.fd, "x", NULL, 0, terms, 0) == -EINVAL &&
	       strstr(ai_sentence, "precision"), "%s", ai_sentence);
	terms.flags = AI_TERMS_DEGRADE;
	terms.precision = AI_PRECISION_FP32;
	contract = contract_service(fix.fd, terms);
	sim_set("fail", "3");
	while (!contract_info(contract).moved && request(&fix, contract) == -EIO)
		;
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_OTHER, AI_SERVICE_DEGRADED, AI_TERM_DEVICE);
	EXPECT(contract_event(contract, AI_EVENT_DEGRADED, &event) &&
	       event.found == AI_PRECISION_FP16 && event.limit == AI_PRECISION_FP32,
	       "%llu of %llu", (unsigned long long)event.found, (unsigned long long)event.limit);
}

/* Three that fail running move the others, and one that works brings them back. */
static void test_failures(void)
{
	struct ai_contract_info info;
	struct ai_event events[64];
	struct fixture fix;
	int contract, count;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	contract = contract_service(fix.fd, fallback_terms(&fix, ai_load(fix.fd, SIM_OTHER,
									 MODEL_COPY)));
	sim_set("fail", "2");
	EXPECT(request(&fix, contract) == -EIO && request(&fix, contract) == -EIO, "%s",
	       ai_sentence);
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_FAST, AI_SERVICE_MET, 0);
	/* Not running: the count began anew. */
	sim_set("fail", "3");
	EXPECT(request(&fix, contract) == -EIO && request(&fix, contract) == -EIO &&
	       !contract_info(contract).moved && request(&fix, contract) == -EIO, "%s",
	       ai_sentence);
	info = contract_info(contract);
	EXPECT(info.moved == AI_TERM_DEVICE && info.moved_left_ns <= 300 * MS, "moved %u",
	       info.moved);
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_OTHER, AI_SERVICE_DEGRADED, AI_TERM_DEVICE);

	/* A trial that fails keeps them there. */
	sleep_ns(310 * MS);
	sim_set("fail", "1");
	EXPECT(request(&fix, contract) == -EIO, "%s", ai_sentence);
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_OTHER, AI_SERVICE_DEGRADED, AI_TERM_DEVICE);
	sleep_ns(310 * MS);
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_FAST, AI_SERVICE_MET, 0);
	info = contract_info(contract);
	EXPECT(!info.moved && info.degraded == 2 && info.met == 2 && info.failed == 6,
	       "moved %u degraded %llu met %llu failed %llu", info.moved,
	       (unsigned long long)info.degraded, (unsigned long long)info.met,
	       (unsigned long long)info.failed);

	count = contract_events(contract, events, 64);
	EXPECT(count == 5 + 1 + 1 + 1 + 1 + 1, "%d events", count);
	EXPECT(events[4].kind == AI_EVENT_FAILED && events[4].found == EIO, "kind %u found %llu",
	       events[4].kind, (unsigned long long)events[4].found);
	event_is(&events[5], AI_EVENT_FALLBACK, AI_TERM_DEVICE, SIM_OTHER);
	EXPECT(events[5].jobs == 3 && events[5].device == SIM_FAST && events[5].found == EIO,
	       "jobs %llu", (unsigned long long)events[5].jobs);
	event_is(&events[6], AI_EVENT_DEGRADED, AI_TERM_DEVICE, SIM_OTHER);
	EXPECT(events[7].kind == AI_EVENT_FAILED && events[8].kind == AI_EVENT_DEGRADED, "%u %u",
	       events[7].kind, events[8].kind);
	event_is(&events[9], AI_EVENT_RETURNED, 0, SIM_OTHER);
}

/* Three that break a term; where nothing but going and coming back is to be told. */
static void test_violations(void)
{
	struct ai_contract_info info;
	struct ai_event events[64];
	struct ai_terms terms;
	struct fixture fix;
	int contract, i, count;

	fixture_open(&fix, SIM_SLOW, MODEL_COPY);
	terms = (struct ai_terms){ .device = SIM_SLOW, .model = fix.model,
		.fallback = AI_FALLBACK_ALLOW, .energy_uj = 50000,
		.fallback_model = ai_load(fix.fd, SIM_OTHER, MODEL_COPY) };
	contract = contract_service(fix.fd, terms);
	for (i = 0; i < 3; i++) {
		EXPECT(!request(&fix, contract), "%s", ai_sentence);
		served(&fix, SIM_SLOW, AI_SERVICE_VIOLATED, 0);
	}
	for (i = 0; i < 4; i++) {
		EXPECT(!request(&fix, contract), "%s", ai_sentence);
		served(&fix, SIM_OTHER, AI_SERVICE_DEGRADED, AI_TERM_ENERGY);
	}
	info = contract_info(contract);
	EXPECT(info.moved == AI_TERM_ENERGY && info.moved_left_ns > 200 * SEC &&
	       info.violated == 3 && info.degraded == 4, "moved %u violated %llu degraded %llu",
	       info.moved, (unsigned long long)info.violated, (unsigned long long)info.degraded);
	count = contract_events(contract, events, 64);
	EXPECT(count == 4, "%d events", count);
	event_is(&events[2], AI_EVENT_ENERGY, AI_TERM_ENERGY, 0);
	event_is(&events[3], AI_EVENT_FALLBACK, AI_TERM_ENERGY, SIM_OTHER);
	EXPECT(events[3].found == events[2].found && events[3].limit == 50000, "found %llu",
	       (unsigned long long)events[3].found);

	/* Another model's requests stay: nothing stands in for it. */
	fix.model = ai_load(fix.fd, SIM_SLOW, MODEL_COPY);
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_SLOW, AI_SERVICE_VIOLATED, 0);
}

/* What the fallback breaks is said of its device. */
static void test_breach_elsewhere(void)
{
	struct ai_event events[64];
	struct ai_terms terms;
	struct fixture fix;
	int contract, i, count;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	terms = fallback_terms(&fix, ai_load(fix.fd, SIM_OTHER, MODEL_COPY));
	terms.fallback = AI_FALLBACK_ALLOW;
	terms.fuse_ns = 0;
	terms.power_mw = 1;
	contract = contract_service(fix.fd, terms);
	for (i = 0; i < 3; i++)
		EXPECT(!request(&fix, contract), "%s", ai_sentence);
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_OTHER, AI_SERVICE_VIOLATED, AI_TERM_POWER);
	count = contract_events(contract, events, 64);
	EXPECT(count == 5, "%d events", count);
	event_is(&events[2], AI_EVENT_POWER, AI_TERM_POWER, 0);
	event_is(&events[3], AI_EVENT_FALLBACK, AI_TERM_POWER, SIM_OTHER);
	event_is(&events[4], AI_EVENT_POWER, AI_TERM_POWER, SIM_OTHER);
}

/* Nothing falls back that was not told to. */
static void test_forbid(void)
{
	struct ai_terms terms = { .device = SIM_FAST };
	struct fixture fix;
	int contract, i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	ai_load(fix.fd, SIM_OTHER, MODEL_COPY);
	terms.model = fix.model;
	contract = contract_service(fix.fd, terms);
	sim_set("fail", "5");
	for (i = 0; i < 5; i++)
		EXPECT(request(&fix, contract) == -EIO, "%s", ai_sentence);
	EXPECT(!request(&fix, contract) && !contract_info(contract).moved, "%s", ai_sentence);
	served(&fix, SIM_FAST, AI_SERVICE_MET, 0);
}

/* A critical contract's request runs again when its device has failed it. */
static void test_critical(void)
{
	struct ai_contract_info info;
	struct ai_event event;
	struct ai_terms terms;
	struct fixture fix;
	int contract;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	terms = fallback_terms(&fix, ai_load(fix.fd, SIM_OTHER, MODEL_COPY));
	terms.flags = AI_TERMS_CRITICAL;
	contract = contract_service(fix.fd, terms);
	sim_set("fail", "1");
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_OTHER, AI_SERVICE_DEGRADED, AI_TERM_DEVICE);
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_FAST, AI_SERVICE_MET, 0);
	/* Both fail it: that is told, and nothing goes round in circles. */
	sim_set("fail", "2");
	EXPECT(request(&fix, contract) == -EIO, "%s", ai_sentence);
	info = contract_info(contract);
	EXPECT(info.failed == 3 && info.degraded == 1 && info.met == 1, "failed %llu",
	       (unsigned long long)info.failed);

	/* What the caller itself got wrong is no failure of the device. */
	contract_events(contract, (struct ai_event[64]){}, 64);
	fixture_reset(&fix);
	use_contract(&fix, contract);
	fix.out.bytes = 4;
	FAILS(fix.fd, AI_INFER, &fix.call, ENOSPC, "needed");
	EXPECT(fix.call.record.device == SIM_FAST, "ran on %u", fix.call.record.device);

	/* The device goes. */
	sim_set("unplug", SIM_FAST_INDEX);
	EXPECT(contract_event(contract, AI_EVENT_DEVICE_LOST, &event), "no event");
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_OTHER, AI_SERVICE_DEGRADED, AI_TERM_DEVICE);
	EXPECT(contract_event(contract, AI_EVENT_FALLBACK, &event), "no event");
	event_is(&event, AI_EVENT_FALLBACK, AI_TERM_DEVICE, SIM_OTHER);
	EXPECT(contract_info(contract).moved == AI_TERM_DEVICE, "not moved");
	/* And the other one. */
	sim_set("unplug", SIM_OTHER_INDEX);
	EXPECT(request(&fix, contract) == -ENODEV, "%s", ai_sentence);
}

/* One that is not critical loses requests, and then moves. */
static void test_not_critical(void)
{
	struct fixture fix;
	int contract, i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	contract = contract_service(fix.fd, fallback_terms(&fix, ai_load(fix.fd, SIM_OTHER,
									 MODEL_COPY)));
	sim_set("unplug", SIM_FAST_INDEX);
	for (i = 0; i < 3; i++)
		EXPECT(request(&fix, contract) == -ENODEV, "%s", ai_sentence);
	EXPECT(contract_info(contract).moved == AI_TERM_DEVICE &&
	       contract_info(contract).failed == 3, "not moved");
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_OTHER, AI_SERVICE_DEGRADED, AI_TERM_DEVICE);
}

/* The device goes while it works on a request: the critical one's is served elsewhere. */
static void test_lost_under_job(void)
{
	struct waiter critical, other;
	struct fixture fix, second;
	struct ai_terms terms;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	terms = fallback_terms(&fix, ai_load(fix.fd, SIM_OTHER, MODEL_COPY));
	fixture_open(&second, SIM_FAST, MODEL_COPY);
	waiter_init(&other, &second);
	use_contract(&other.fix, contract_service(second.fd,
						  (struct ai_terms){ .device = SIM_FAST,
								     .power_mw = 1000000 }));
	waiter_init(&critical, &fix);
	terms.flags = AI_TERMS_CRITICAL;
	use_contract(&critical.fix, contract_service(fix.fd, terms));
	sim_set("hang", "2");
	waiter_start(&critical);
	waiter_start(&other);
	device_wait_queued(fix.fd, SIM_FAST, 2);
	sim_set("unplug", SIM_FAST_INDEX);
	waiter_join(&critical);
	waiter_join(&other);
	EXPECT(other.ret == -ENODEV, "%s", other.sentence);
	EXPECT(!critical.ret, "%s", critical.sentence);
	served(&critical.fix, SIM_OTHER, AI_SERVICE_DEGRADED, AI_TERM_DEVICE);
}

/* The contract holds its fallback; the file that loaded it may go. */
static void test_models_go(void)
{
	AI_ARG(ai_model_unload, unload);
	struct fixture fix;
	struct ai_terms terms;
	int contract;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	terms = fallback_terms(&fix, ai_load(fix.fd, SIM_OTHER, MODEL_COPY));
	terms.flags = AI_TERMS_CRITICAL;
	contract = contract_service(fix.fd, terms);
	unload.model = terms.fallback_model;
	WORKS(fix.fd, AI_MODEL_UNLOAD, &unload);
	sim_set("fail", "1");
	EXPECT(!request(&fix, contract), "%s", ai_sentence);
	served(&fix, SIM_OTHER, AI_SERVICE_DEGRADED, AI_TERM_DEVICE);
	close(fix.fd);
	EXPECT(contract_info(contract).degraded == 1, "degraded");
	ASSERT(!module_unload("ai_sim"), "the contract keeps ai_sim: %s", strerror(errno));
	ASSERT(!sim_ensure(), "loading");
	close(contract);
}

/* Requests race with going, coming back and closing. */
static void *fallback_race(void *arg)
{
	struct racer *racer = arg;
	long long end = now_ns() + racer->seconds * SEC;
	struct fixture fix;
	int ret;

	fixture_open(&fix, SIM_OTHER, MODEL_COPY);
	fix.fd = racer->fd;
	fix.model = racer->model;
	fix.in_alloc = ai_get_mapped(fix.fd, PAGE);
	fix.out_alloc = ai_get_mapped(fix.fd, PAGE);
	fix.x = (float *)(uintptr_t)fix.in_alloc.address;
	fix.y = (float *)(uintptr_t)fix.out_alloc.address;
	while (now_ns() < end) {
		ret = request(&fix, racer->contract);
		if (ret)
			EXPECT(ret == -EIO || ret == -EAGAIN, "%s", ai_sentence);
		else
			EXPECT(fix.call.moved ? fix.call.record.device == SIM_OTHER :
						fix.call.record.device == SIM_FAST,
			       "moved %u on %u", fix.call.moved, fix.call.record.device);
	}
	return NULL;
}

static void test_race(void)
{
	struct racer racer = { .seconds = 4 };
	struct ai_contract_info info;
	struct ai_terms terms;
	pthread_t thread[4];
	struct fixture fix;
	int i;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	terms = fallback_terms(&fix, ai_load(fix.fd, SIM_OTHER, MODEL_COPY));
	terms.fuse_ns = MS;
	racer.fd = fix.fd;
	racer.model = fix.model;
	racer.contract = contract_service(fix.fd, terms);
	for (i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, fallback_race, &racer);
	for (i = 0; i < 40; i++) {
		sim_set("fail", "%d", i % 8);
		sleep_ns(100 * MS);
	}
	sim_reset();
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	sleep_ns(2 * MS);
	EXPECT(!request(&fix, racer.contract), "%s", ai_sentence);
	info = contract_info(racer.contract);
	EXPECT(!info.moved && info.degraded && info.met && info.failed,
	       "moved %u degraded %llu met %llu failed %llu", info.moved,
	       (unsigned long long)info.degraded, (unsigned long long)info.met,
	       (unsigned long long)info.failed);
}

/* The device slows itself down: how long, and which results it concerns. */
static void test_throttle(void)
{
	struct ai_event events[64];
	struct ai_contract_info info;
	struct fixture fix;
	int contract, i, count = 0;
	long long begin, took;

	fixture_open(&fix, SIM_MEDIUM, MODEL_COPY);
	contract = contract_service(fix.fd, (struct ai_terms){ .device = SIM_MEDIUM,
							       .power_mw = 1000000 });
	sim_set("time_constant_ms", "1");
	sim_set("ambient", "150");
	begin = now_ns();
	/* Seen when the device is looked at, before a request or by anybody. */
	for (i = 0; i < 100 && !count; i++) {
		sleep_ns(10 * MS);
		ai_device(fix.fd, SIM_MEDIUM);
		count = contract_events(contract, events, 1);
	}
	for (i = 0; i < 5; i++) {
		EXPECT(!request(&fix, contract), "%s", ai_sentence);
		EXPECT(fix.call.record.flags & AI_RECORD_THROTTLED, "request %d was not", i);
	}
	sim_set("ambient", "25");
	for (i = 0; i < 200 && count < 2; i++) {
		sleep_ns(20 * MS);
		count += contract_events(contract, events + count, 2 - count);
	}
	took = now_ns() - begin;
	sim_set("time_constant_ms", "20000");
	ASSERT(count == 2, "%d events", count);
	EXPECT(events[0].kind == AI_EVENT_THROTTLED && events[0].device == SIM_MEDIUM &&
	       events[0].found >= events[0].limit && events[0].limit == 70000,
	       "kind %u found %llu limit %llu", events[0].kind,
	       (unsigned long long)events[0].found, (unsigned long long)events[0].limit);
	EXPECT(events[1].kind == AI_EVENT_UNTHROTTLED && events[1].jobs == 5 && events[1].found &&
	       events[1].found <= (unsigned long long)took, "kind %u jobs %llu found %llu",
	       events[1].kind, (unsigned long long)events[1].jobs,
	       (unsigned long long)events[1].found);
	info = contract_info(contract);
	EXPECT(info.throttled == 5, "throttled %llu", (unsigned long long)info.throttled);
}

static const struct tap_test tests[] = {
	{ "terms that cannot be", test_bad_terms, 0 },
	{ "precision", test_precision, 0 },
	{ "three failures move, a trial brings back", test_failures, 0 },
	{ "three violations move", test_violations, 0 },
	{ "what the fallback breaks", test_breach_elsewhere, 0 },
	{ "nothing moves by default", test_forbid, 0 },
	{ "critical: what a device failed runs again", test_critical, 0 },
	{ "not critical: what a device failed has failed", test_not_critical, 0 },
	{ "the device goes under a job", test_lost_under_job, 0 },
	{ "the contract keeps its fallback", test_models_go, 0 },
	{ "races", test_race, 0 },
	{ "heat", test_throttle, 0 },
};

TAP_MAIN(tests)
