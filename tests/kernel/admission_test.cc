// SPDX-License-Identifier: GPL-2.0-only
/*
 * The schedulability test against devices that are played through: what it admits
 * is never late, and it does not refuse far more than it must.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <vector>

extern "C" {
#include "ai_admission.h"
}

namespace {

constexpr u64 kUs = 1000, kMs = 1000 * kUs;

using Claims = std::vector<ai_claim>;
using Random = std::mt19937_64;

u64 between(Random& random, u64 low, u64 high)
{
    return std::uniform_int_distribution<u64>(low, high)(random);
}

TEST(LogLinear, BucketsAreInOrderAndNarrow)
{
    for (u32 bucket = 0; bucket < AI_LOGLIN_BUCKETS; bucket++) {
        u64 low = ai_loglin_lower(bucket), high = ai_loglin_upper(bucket);
        EXPECT_EQ(ai_loglin_bucket(low), bucket);
        EXPECT_EQ(ai_loglin_bucket(high), bucket);
        EXPECT_LE((high - low) * AI_LOGLIN_PARTS, low);
        if (bucket + 1 < AI_LOGLIN_BUCKETS) {
            EXPECT_EQ(ai_loglin_bucket(high + 1), bucket + 1);
        }
    }
    EXPECT_EQ(ai_loglin_bucket(0), 0u);
    EXPECT_EQ(ai_loglin_bucket(UINT64_MAX), AI_LOGLIN_BUCKETS - 1);
}

TEST(Admission, RefusesClaimsThatCannotBe)
{
    ai_claim good{kMs, 10 * kMs, 5 * kMs, 1};
    EXPECT_TRUE(ai_claim_valid(&good));
    auto with = [&](auto change) {
        ai_claim claim = good;
        change(claim);
        return ai_claim_valid(&claim);
    };
    EXPECT_FALSE(with([](ai_claim& c) { c.service_ns = 0; }));
    EXPECT_FALSE(with([](ai_claim& c) { c.service_ns = 6 * kMs; }));
    EXPECT_FALSE(with([](ai_claim& c) { c.period_ns = kMs - 1; }));
    EXPECT_FALSE(with([](ai_claim& c) { c.period_ns = UINT64_MAX; }));
    EXPECT_FALSE(with([](ai_claim& c) { c.deadline_ns = UINT64_MAX; }));
    EXPECT_FALSE(with([](ai_claim& c) { c.deadline_ns = 1023; }));
    EXPECT_FALSE(with([](ai_claim& c) { c.burst = 0; }));
    EXPECT_FALSE(with([](ai_claim& c) { c.burst = UINT32_MAX; }));
    EXPECT_FALSE(with([](ai_claim& c) {
        c.service_ns = 1;
        c.burst = AI_ADMISSION_MOST_BURST + 1;
    }));
}

/* ---- a device ---- */

struct Arrival {
    u64 at;
    u32 claim;
};

/* When requests of a claim come: as many as it may send, or fewer, as the token bucket lets. */
std::vector<Arrival> arrivals(Random& random, const ai_claim& claim, u32 index, u64 begin, u64 end)
{
    std::vector<Arrival> all;
    bool greedy = between(random, 0, 3) != 0;
    u64 tat = 0, at = begin;
    while (at < end) {
        u64 earliest = tat > (claim.burst - 1) * claim.period_ns
                           ? tat - (claim.burst - 1) * claim.period_ns
                           : 0;
        at = std::max(at, earliest);
        all.push_back({at, index});
        tat = std::max(at, tat) + claim.period_ns;
        /* Sometimes it rests and gathers a burst. */
        if (!greedy || between(random, 0, 20) == 0)
            at += between(random, 0, claim.period_ns * (claim.burst + 1));
    }
    return all;
}

/* The most time by which a request was late; 0: none was. */
u64 play(Random& random, const Claims& claims, const ai_admission_load& load, u64 end)
{
    struct Waiting {
        u64 due, at;
        u32 claim;
        bool operator<(const Waiting& other) const { return due > other.due; }
    };
    std::vector<Arrival> all;
    for (u32 i = 0; i < claims.size(); i++) {
        u64 begin = between(random, 0, 1) ? 10 * kMs : between(random, 0, claims[i].period_ns);
        auto more = arrivals(random, claims[i], i, begin, end);
        all.insert(all.end(), more.begin(), more.end());
    }
    std::sort(all.begin(), all.end(),
              [](const Arrival& a, const Arrival& b) { return a.at < b.at; });

    std::priority_queue<Waiting> waiting;
    std::queue<std::optional<Waiting>> flight; /* the first one runs; empty: has no claim */
    u64 free_at = 0, late = 0, now = 0;
    auto service = [&](const std::optional<Waiting>& job) {
        u64 most = job ? claims[job->claim].service_ns : load.other_ns;
        return between(random, 0, 3) ? most : between(random, most / 2 + 1, most);
    };
    for (size_t next = 0; next < all.size() || !waiting.empty();) {
        /* The next moment: an arrival, or the end of the job that runs. */
        bool ends = !flight.empty() && (next == all.size() || free_at <= all[next].at);
        if (ends) {
            now = free_at;
            if (auto job = flight.front(); job && now > job->due)
                late = std::max(late, now - job->due);
            flight.pop();
            if (!flight.empty())
                free_at = now + service(flight.front());
        } else if (next < all.size()) {
            now = all[next].at;
        }
        while (!ends && next < all.size() && all[next].at == now) {
            waiting.push({now + claims[all[next].claim].deadline_ns, now, all[next].claim});
            next++;
        }
        while (flight.size() < load.inflight) {
            if (waiting.empty() && (!flight.empty() || !load.other_ns || next == all.size()))
                break;
            bool idle = flight.empty();
            if (waiting.empty()) {
                flight.push(std::nullopt);
            } else {
                flight.push(waiting.top());
                waiting.pop();
            }
            if (idle)
                free_at = now + service(flight.front());
        }
    }
    return late;
}

ai_claim random_claim(Random& random, u64 longest)
{
    ai_claim claim{};
    claim.service_ns = between(random, 50 * kUs, longest);
    claim.burst = between(random, 0, 2) ? 1 : between(random, 1, 5);
    claim.period_ns = claim.service_ns * between(random, 3, 60);
    claim.deadline_ns = claim.service_ns * between(random, 2, 80);
    return claim;
}

TEST(Admission, NothingAdmittedIsLate)
{
    Random random(20260101);
    u32 admitted = 0, refused = 0, full = 0;
    for (int round = 0; round < 400; round++) {
        auto adm = std::make_unique<ai_admission>();
        ai_admission_load load{static_cast<u32>(between(random, 1, 2)),
                               between(random, 0, 1) ? between(random, 1, 3 * kMs) : 0};
        Claims claims;
        for (int i = 0; i < 40; i++) {
            ai_claim claim = random_claim(random, 2 * kMs);
            ASSERT_TRUE(ai_claim_valid(&claim));
            if (ai_admission_test(adm.get(), &claim, &load).result == AI_ADMISSION_FITS) {
                ai_admission_add(adm.get(), &claim);
                claims.push_back(claim);
                admitted++;
            } else {
                refused++;
            }
            /* Somebody goes. */
            if (!claims.empty() && between(random, 0, 9) == 0) {
                size_t gone = between(random, 0, claims.size() - 1);
                ai_admission_remove(adm.get(), &claims[gone]);
                claims.erase(claims.begin() + static_cast<long>(gone));
            }
        }
        full += adm->rate > AI_ADMISSION_MOST_RATE * 8 / 10;
        ASSERT_EQ(play(random, claims, load, 400 * kMs), 0u) << "round " << round;
    }
    EXPECT_GT(admitted, 2000u);
    EXPECT_GT(refused, 2000u);
    EXPECT_GT(full, 20u);
}

TEST(Admission, TheGameSeesLateJobs)
{
    /* Twice what was admitted: if nothing were late now, the test above would show nothing. */
    Random random(7);
    Claims claims(20, ai_claim{kMs, 20 * kMs, 5 * kMs, 1});
    EXPECT_GT(play(random, claims, {2, kMs}, 400 * kMs), 0u);
}

TEST(Admission, AdmitsNineTenthsOfADevice)
{
    /* Nine claims of a tenth each, that can wait for all others. */
    auto adm = std::make_unique<ai_admission>();
    ai_admission_load load{2, kMs};
    ai_claim claim{kMs, 10 * kMs, 14 * kMs, 1};
    for (int i = 0; i < 9; i++) {
        EXPECT_EQ(ai_admission_test(adm.get(), &claim, &load).result, AI_ADMISSION_FITS) << i;
        ai_admission_add(adm.get(), &claim);
    }
    ai_shortfall why = ai_admission_test(adm.get(), &claim, &load);
    EXPECT_EQ(why.result, AI_ADMISSION_RATE);
    EXPECT_GT(why.needed, why.available);
}

TEST(Admission, WhatIsRemovedIsFreeAgain)
{
    auto adm = std::make_unique<ai_admission>(), empty = std::make_unique<ai_admission>();
    Random random(3);
    Claims claims;
    for (int i = 0; i < 200; i++) {
        claims.push_back(random_claim(random, 10 * kMs));
        ai_admission_add(adm.get(), &claims.back());
    }
    std::shuffle(claims.begin(), claims.end(), random);
    for (const ai_claim& claim : claims)
        ai_admission_remove(adm.get(), &claim);
    EXPECT_EQ(adm->rate, 0u);
    EXPECT_EQ(adm->nr, 0u);
    EXPECT_TRUE(std::ranges::equal(adm->burst_ns, empty->burst_ns));
    EXPECT_TRUE(std::ranges::equal(adm->bucket_rate, empty->bucket_rate));
    EXPECT_TRUE(std::ranges::equal(adm->deadlines, empty->deadlines));
    EXPECT_TRUE(std::ranges::equal(adm->services, empty->services));
}

TEST(Admission, OffersAreAdmittedAndNear)
{
    Random random(11);
    u32 offers = 0;
    for (int round = 0; round < 300; round++) {
        auto adm = std::make_unique<ai_admission>();
        ai_admission_load load{2, 2 * kMs};
        for (int i = 0; i < 30; i++) {
            ai_claim claim = random_claim(random, 4 * kMs), offer = claim;
            if (ai_admission_test(adm.get(), &claim, &load).result == AI_ADMISSION_FITS) {
                ai_admission_add(adm.get(), &claim);
                continue;
            }
            if (!ai_admission_offer(adm.get(), &offer, &load))
                continue;
            offers++;
            ASSERT_TRUE(ai_claim_valid(&offer));
            EXPECT_EQ(ai_admission_test(adm.get(), &offer, &load).result, AI_ADMISSION_FITS);
            EXPECT_GE(offer.deadline_ns, claim.deadline_ns);
            EXPECT_GE(offer.period_ns, claim.period_ns);
            EXPECT_LE(offer.burst, claim.burst);
            /* A deadline one bucket earlier is refused. */
            u32 bucket = ai_loglin_bucket(offer.deadline_ns);
            if (offer.deadline_ns > claim.deadline_ns &&
                bucket > ai_loglin_bucket(claim.deadline_ns) + 1) {
                offer.deadline_ns = ai_loglin_lower(bucket - 1);
                EXPECT_NE(ai_admission_test(adm.get(), &offer, &load).result, AI_ADMISSION_FITS);
            }
        }
    }
    EXPECT_GT(offers, 1000u);
}

TEST(Admission, OffersOfAFullDeviceStayInRange)
{
    auto adm = std::make_unique<ai_admission>();
    ai_admission_load load{1, 0};
    const u64 high = (1ULL << AI_LOGLIN_HIGH) - 1;
    ai_claim filler{95 * kMs, 100 * kMs, high, 1};
    filler.service_ns -= kUs;
    ASSERT_EQ(ai_admission_test(adm.get(), &filler, &load).result, AI_ADMISSION_FITS);
    ai_admission_add(adm.get(), &filler);
    for (u64 service : {u64{1}, kUs, kMs, 1000 * kMs, high}) {
        ai_claim claim{service, high, high, 1};
        ASSERT_TRUE(ai_claim_valid(&claim));
        EXPECT_TRUE(!ai_admission_offer(adm.get(), &claim, &load) || ai_claim_valid(&claim));
    }
}

} // namespace
