// SPDX-License-Identifier: GPL-2.0-only
/* Contracts: shares of a device's time, and of what it can move. */
#define _GNU_SOURCE
#include "contract_test.h"

#define SECONDS 5

static void test_admission(void)
{
	struct ai_terms terms = { .device = SIM_MEDIUM, .service_ns = MS, .share = 600000 };
	int fd = ai_open(), contract = contract_service(fd, terms);

	EXPECT(contract_info(contract).terms.share == 600000, "share");
	EXPECT(contract_ask(fd, "second", NULL, 0, terms, 0) == -EDQUOT, "%s", ai_sentence);
	EXPECT(created.answer == AI_ANSWER_REFUSED && created.term == AI_TERM_SHARE &&
	       created.device == SIM_MEDIUM && created.needed >= 1200000 &&
	       created.available > 940000 && created.available <= 950000,
	       "answer %u term %u needed %llu available %llu", created.answer, created.term,
	       (unsigned long long)created.needed, (unsigned long long)created.available);
	ASSERT(created.offered && created.offer.share > 340000 && created.offer.share <= 350000,
	       "offer %u", created.offer.share);
	EXPECT(!contract_ask(fd, "offer", NULL, 0, created.offer, 0), "%s", ai_sentence);
	close(created.fd);
	/* Latency and shares draw on the same time. */
	EXPECT(contract_ask(fd, "rate", NULL, 0, (struct ai_terms){ .device = SIM_MEDIUM,
			    .service_ns = MS, .period_ns = 2 * MS, .latency_ns = 50 * MS }, 0) ==
	       -EDQUOT && created.term == AI_TERM_RATE, "%s", ai_sentence);
	close(contract);
	contract_service(fd, (struct ai_terms){ .device = SIM_MEDIUM, .service_ns = MS,
						.share = 949000 });
}

struct sender {
	struct fixture fix;
	pthread_t thread;
	int contract;
	long long until;
	unsigned int done;
};

static void *send_on(void *arg)
{
	struct sender *sender = arg;

	sender->fix.call.hdr.error = (uintptr_t)ai_sentence;
	while (now_ns() < sender->until) {
		if (ai_call(sender->fix.fd, AI_INFER, &sender->fix.call))
			EXPECT(false, "%s", ai_sentence);
		else
			sender->done++;
	}
	return NULL;
}

/* Requests that one of the senders gets through among eight others. */
static unsigned int one_of_nine(const struct fixture *fix, int contract, unsigned int *others)
{
	struct sender sender[9] = { 0 };
	long long until = now_ns() + SECONDS * SEC;
	unsigned int i;

	for (i = 0; i < 9; i++) {
		fixture_again(&sender[i].fix, fix);
		if (!i && contract)
			use_contract(&sender[i].fix, contract);
		sender[i].until = until;
		pthread_create(&sender[i].thread, NULL, send_on, &sender[i]);
	}
	*others = 0;
	for (i = 0; i < 9; i++) {
		pthread_join(sender[i].thread, NULL);
		*others += i ? sender[i].done : 0;
	}
	return sender[0].done;
}

static void test_share(void)
{
	struct ai_terms terms = { .device = SIM_SLOW, .service_ns = SIM_SLOW_NS + 5 * MS,
				  .share = 400000 };
	unsigned int alone, others, mine;
	struct ai_contract_info info;
	struct fixture fix;
	int contract;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	/* Made first: a machine that stalls makes the others' requests too long to be beside. */
	contract = contract_service(fix.fd, terms);
	/* In order of arrival: a ninth. */
	alone = one_of_nine(&fix, 0, &others);
	mine = one_of_nine(&fix, contract, &others);
	/* 40 % at 55 ms each are 7.3 a second; somewhat less at the ends. */
	EXPECT(mine >= SECONDS * 7 - 7 && mine >= 2 * alone, "%u of the share, %u without", mine,
	       alone);
	EXPECT(others >= SECONDS * 5, "%u are left for the others", others);
	info = contract_info(contract);
	EXPECT(info.met == mine && !info.violated, "met %llu", (unsigned long long)info.met);
	/* Those that a stall of the machine made longer than stated. */
	EXPECT(info.excess <= mine / 7, "%llu beyond the terms", (unsigned long long)info.excess);
}

/* What it sends beyond its share waits like that of others, and nothing is left behind. */
static void test_share_closed(void)
{
	struct ai_terms terms = { .device = SIM_SLOW, .service_ns = SIM_SLOW_NS + 5 * MS,
				  .share = 10000 };
	struct waiter waiter[8];
	struct fixture fix;
	int contract, i;

	fixture_open(&fix, SIM_SLOW, MODEL_NULL);
	contract = contract_service(fix.fd, terms);
	for (i = 0; i < (int)ARRAY_SIZE(waiter); i++) {
		waiter_init(&waiter[i], &fix);
		use_contract(&waiter[i].fix, contract);
		waiter[i].fix.call.cookie = i < 2;
		waiter_start(&waiter[i]);
	}
	device_wait_queued(fix.fd, SIM_SLOW, 4);
	close(contract);
	for (i = 0; i < (int)ARRAY_SIZE(waiter); i++) {
		waiter_join(&waiter[i]);
		/* The last ones may not have begun when it was closed. */
		EXPECT(!waiter[i].ret || waiter[i].ret == -EBADF, "%s", waiter[i].sentence);
	}
	contract_service(fix.fd, terms);
}

static void test_bandwidth(void)
{
	struct ai_terms terms = { .device = SIM_FAST, .bandwidth = 600000000 };
	struct fixture fix;
	int contract;

	fixture_open(&fix, SIM_FAST, MODEL_COPY);
	EXPECT(ai_device(fix.fd, SIM_FAST).bandwidth == 1000000000, "bandwidth %llu",
	       (unsigned long long)ai_device(fix.fd, SIM_FAST).bandwidth);
	contract = contract_service(fix.fd, terms);
	EXPECT(ai_device(fix.fd, SIM_FAST).reserved_bandwidth == 600000000, "not reserved");
	EXPECT(contract_ask(fix.fd, "x", NULL, 0, terms, 0) == -EDQUOT, "%s", ai_sentence);
	EXPECT(created.term == AI_TERM_BANDWIDTH && created.needed == 600000000 &&
	       created.available == 400000000 && created.offered &&
	       created.offer.bandwidth == 400000000, "term %u needed %llu available %llu",
	       created.term, (unsigned long long)created.needed,
	       (unsigned long long)created.available);
	close(contract);
	EXPECT(!ai_device(fix.fd, SIM_FAST).reserved_bandwidth, "still reserved");

	/* 64 bytes in and 64 out, at 16 bytes a second. */
	terms.bandwidth = 16;
	contract = contract_service(fix.fd, terms);
	use_contract(&fix, contract);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.call.service == AI_SERVICE_MET, "service %u", fix.call.service);
	WORKS(fix.fd, AI_INFER, &fix.call);
	EXPECT(fix.call.service == AI_SERVICE_EXCESS, "service %u", fix.call.service);
	EXPECT(contract_info(contract).bytes == 256, "bytes");
}

static const struct tap_test tests[] = {
	{ "shares: admitted, refused with an offer, free again", test_admission, 0 },
	{ "a share is given beside eight others", test_share, 60 },
	{ "closed with requests that wait for their turn", test_share_closed, 0 },
	{ "bandwidth: admitted, refused with an offer, kept", test_bandwidth, 0 },
};

TAP_MAIN(tests)
