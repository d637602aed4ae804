/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>

#include "fixture.h"

namespace {

using namespace std::chrono_literals;
using namespace ai::literals;
using testing::HasSubstr;

constexpr ai::DeviceId kNpu{AI_DEVICE(AI_CLASS_NPU, 0)};

class ContractTest : public WithKernel {
protected:
    ai::Session session = open();

    static ai::Terms terms()
    {
        return ai::parse_terms("name=camera device=npu0 latency_p99<=50ms period=33ms "
                               "service<=8ms energy<=15J memory(system)>=1MiB")
            .or_throw();
    }

    static ai_event event(ai_event_kind kind, std::uint64_t found, std::uint64_t limit,
                          ai_term term)
    {
        ai_event event{};

        event.sequence = 1;
        event.kind = kind;
        event.device = AI_DEVICE(AI_CLASS_NPU, 0);
        event.job = 17;
        event.found = found;
        event.limit = limit;
        event.term = term;
        return event;
    }
};

TEST_F(ContractTest, IsClosedOnce)
{
    {
        ai::Contract first = ai::Contract::create(session, terms()).or_throw();
        ai::Contract second = std::move(first);
        EXPECT_EQ(first.fd(), -1); // NOLINT(bugprone-use-after-move): that is what is tested
        EXPECT_EQ(kernel->live_contracts(), 1U);
        second = ai::Contract::create(session, terms()).or_throw();
        EXPECT_EQ(kernel->live_contracts(), 1U);
    }
    EXPECT_EQ(kernel->live_contracts(), 0U);
}

TEST_F(ContractTest, CanBeClosedEarly)
{
    ai::Contract contract = ai::Contract::create(session, terms()).or_throw();
    contract.close();
    contract.close();
    EXPECT_EQ(kernel->live_contracts(), 0U);
    EXPECT_EQ(contract.fd(), -1);
    EXPECT_EQ(contract.info().error().code, EBADF);
    EXPECT_EQ(contract.events().error().code, EBADF);
    EXPECT_EQ(contract.wait(-1ns).error().code, EBADF);
    EXPECT_EQ(contract.renew().error().code, EBADF);
}

TEST_F(ContractTest, KeepsItsTerms)
{
    ai::Terms asked = terms();
    asked.share = 0_percent;
    asked.power = 25_W;
    asked.precision = ai::Precision::kFp16;
    asked.fallback = ai::Fallback::kAllow;
    asked.critical = true;
    asked.model = 3;
    asked.fallback_model = 4;
    ai::Contract contract = ai::Contract::create(session, asked).or_throw();
    ai::ContractInfo info = contract.info().or_throw();

    EXPECT_EQ(info.terms, asked);
    EXPECT_EQ(info.id, 1U);
}

TEST_F(ContractTest, ARefusalIsAnAnswer)
{
    ai_contract_create refusal{};
    refusal.term = AI_TERM_LATENCY;
    refusal.device = AI_DEVICE(AI_CLASS_NPU, 0);
    refusal.needed = 70000000;
    refusal.available = 50000000;
    refusal.offered = 1;
    refusal.offer.latency_ns = 75000000;
    kernel->refusal = refusal;

    ai::Answer answer = ai::Contract::ask(session, terms()).or_throw();
    ASSERT_FALSE(answer.contract);
    ASSERT_TRUE(answer.refusal);
    EXPECT_EQ(answer.refusal->term, ai::Term::kLatency);
    EXPECT_EQ(answer.refusal->device, kNpu);
    EXPECT_EQ(answer.refusal->needed, 70000000U);
    EXPECT_EQ(answer.refusal->available, 50000000U);
    EXPECT_EQ(answer.refusal->message, "over budget");
    ASSERT_TRUE(answer.refusal->offer);
    EXPECT_EQ(answer.refusal->offer->latency, 75ms);
    EXPECT_EQ(answer.refusal->offer->name, "camera");
    EXPECT_EQ(answer.refusal->offer->memory, terms().memory);

    kernel->refusal = ai_contract_create{};
    ai::Result<ai::Contract> contract = ai::Contract::create(session, terms());
    ASSERT_FALSE(contract);
    EXPECT_EQ(contract.error().code, EDQUOT);
    EXPECT_EQ(contract.error().message, "over budget");
}

TEST_F(ContractTest, WhatCannotBeIsAnError)
{
    ai::Terms bad = terms();
    bad.latency = -1ns;
    EXPECT_THAT(ai::Contract::ask(session, bad).error().message, HasSubstr("-1 ns"));
    bad = terms();
    bad.name.assign(64, 'x');
    EXPECT_THAT(ai::Contract::ask(session, bad).error().message, HasSubstr("64 characters"));
    bad = terms();
    bad.power = ai::Power(1ULL << 32);
    EXPECT_EQ(ai::Contract::ask(session, bad).error().code, EINVAL);
    bad = terms();
    bad.memory.resize(9);
    EXPECT_THAT(ai::Contract::ask(session, bad).error().message, HasSubstr("9 devices"));
    kernel->fail_request = AI_CONTRACT_CREATE;
    kernel->fail_error = ENOMEM;
    EXPECT_EQ(ai::Contract::ask(session, terms()).error().code, ENOMEM);
    EXPECT_EQ(kernel->live_contracts(), 0U);
}

TEST_F(ContractTest, ReadsEventsAndLooksAtThem)
{
    ai::Contract contract = ai::Contract::create(session, terms()).or_throw();
    EXPECT_TRUE(contract.events().or_throw().empty());
    EXPECT_EQ(contract.wait(0ns), false);
    for (std::uint64_t i = 1; i <= 40; i++) {
        kernel->events.push_back(event(AI_EVENT_ENERGY, 1230000, 1000000, AI_TERM_ENERGY));
        kernel->events.back().sequence = i;
    }
    EXPECT_EQ(contract.wait(-1ns), true);
    EXPECT_EQ(ai::contract_events(session, 1, 38).or_throw().size(), 2U);
    EXPECT_EQ(contract.events().or_throw().size(), 32U);
    EXPECT_EQ(contract.events().or_throw().back().sequence, 40U);
    EXPECT_TRUE(contract.events().or_throw().empty());
    contract.renew().or_throw();
    EXPECT_EQ(kernel->renewals, 1);
}

TEST_F(ContractTest, AllOfThem)
{
    EXPECT_TRUE(ai::contracts(session).or_throw().empty());
    ai::Contract first = ai::Contract::create(session, terms()).or_throw();
    ai::Contract second = ai::Contract::create(session, terms()).or_throw();
    kernel->figures.jobs = 5;
    kernel->figures.fuse = AI_FUSE_OPEN;
    std::vector<ai::ContractInfo> all = ai::contracts(session).or_throw();

    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[1].id, 2U);
    EXPECT_EQ(all[1].jobs, 5U);
    EXPECT_EQ(all[1].fuse, ai::Fuse::kOpen);
    EXPECT_EQ(ai::contract_info(session, 3).error().code, ENOENT);
    EXPECT_EQ(ai::reset_fuse(session, "camera"), 2U);
}

TEST_F(ContractTest, MemoryAndRequestsUnderIt)
{
    ai::Contract contract = ai::Contract::create(session, terms()).or_throw();
    kernel->on_infer = [](FakeKernel::Job& job) {
        job.argument->service = AI_SERVICE_DEGRADED;
        job.argument->moved = AI_TERM_DEVICE;
        job.argument->broken = 1U << AI_TERM_POWER;
        job.argument->latency_ns = 1000;
        job.argument->energy_uj = 7;
        set_output(job.outputs[0], AI_DTYPE_FLOAT, {1}, 4);
        return job.contract ? 0 : -EINVAL;
    };
    ai::Model model = load(session, {1}, {1});
    auto input =
        ai::Tensor::allocate(session, ai::DType::kFloat32, ai::Shape(1), {.contract = &contract})
            .or_throw();
    EXPECT_EQ(kernel->last_alloc.contract, contract.fd());
    EXPECT_TRUE(kernel->last_alloc.hdr.flags & AI_ALLOC_CONTRACT);
    auto done = ai::infer(model, {&input, 1}, {.contract = &contract}).or_throw();
    EXPECT_EQ(done.record.service, ai::Service::kDegraded);
    EXPECT_EQ(done.record.moved, ai::Term::kDevice);
    EXPECT_TRUE(done.record.broke(ai::Term::kPower));
    EXPECT_FALSE(done.record.broke(ai::Term::kEnergy));
    EXPECT_EQ(done.record.latency, 1us);
    EXPECT_EQ(done.record.energy, 7_uJ);
}

TEST_F(ContractTest, StringsUnderItAndAPreciseModel)
{
    ai::Contract contract = ai::Contract::create(session, terms()).or_throw();
    const std::vector<std::string> strings{"a", "b"};
    ai::Tensor::from_strings(session, ai::Shape(2), strings, {.contract = &contract}).or_throw();
    EXPECT_EQ(kernel->last_alloc.contract, contract.fd());
    ai::Model::load(session, artefact, {.precision = ai::Precision::kFp16}).or_throw();
    EXPECT_EQ(kernel->last_load.precision, AI_PRECISION_FP16);
}

TEST_F(ContractTest, EventsInWords)
{
    kernel->events = {
        event(AI_EVENT_ENERGY, 1230000, 1000000, AI_TERM_ENERGY),
        event(AI_EVENT_FALLBACK, 1230000, 1000000, AI_TERM_ENERGY),
        event(AI_EVENT_FALLBACK, 0, 0, AI_TERM_DEVICE),
        event(AI_EVENT_UNTHROTTLED, 2000000000, 0, AI_TERM_NONE),
        event(AI_EVENT_FAILED, 0, 0, AI_TERM_NONE),
    };
    kernel->events.back().kind = 99;
    kernel->events.push_back(
        event(AI_EVENT_DEGRADED, AI_PRECISION_INT8, AI_PRECISION_FP16, AI_TERM_ENERGY));
    kernel->events.push_back(event(AI_EVENT_FAILED, EIO, 0, AI_TERM_DEVICE));
    kernel->events.push_back(event(AI_EVENT_LATENCY, 50000001, 50000000, AI_TERM_LATENCY));
    for (ai_event& each : kernel->events) {
        each.other = AI_DEVICE(AI_CLASS_GPU, 1);
        each.jobs = 3;
    }
    kernel->events.front().other = 0; /* as the kernel has it for what is broken */
    kernel->events.back().other = 0;
    ai::Contract contract = ai::Contract::create(session, terms()).or_throw();
    std::vector<ai::ContractEvent> events = contract.events().or_throw();

    ASSERT_EQ(events.size(), 8U);
    EXPECT_EQ(ai::describe(events[0]),
              "energy exceeded by 23 %: 1.23 J, at most 1 J (job 17 on npu0)");
    EXPECT_EQ(ai::describe(events[1]),
              "requests go from npu0 to gpu1: energy exceeded by 23 %, 3 times running");
    EXPECT_THAT(ai::describe(events[2]), HasSubstr("the device does not work"));
    EXPECT_EQ(ai::describe(events[3]), "npu0 has slowed itself down for 2 s, which 3 results felt");
    EXPECT_THAT(ai::describe(events[4]), HasSubstr("99"));
    EXPECT_EQ(ai::describe(events[5]),
              "a result came from gpu1, because of energy, with int8 instead of fp16 (job 17)");
    EXPECT_THAT(ai::describe(events[6]), HasSubstr("(job 17 on gpu1)"));
    EXPECT_THAT(ai::describe(events[7]), HasSubstr("exceeded by less than 1 %"));
}

} // namespace
