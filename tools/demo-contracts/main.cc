/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A story of contracts on two software devices, told as it happens: admission, a refusal
 * with a counter-offer, overload, heat and what it breaks, the fallback, the fuse, a
 * device that goes. Each chapter looks whether the kernel did what it says.
 */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <ai/ai.h>

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kModel = "ai-sim-model 1\nop copy\nin x 1 1 16\nout y 1 1 16\n";

void chapter(const char* title)
{
    std::printf("\n== %s\n", title);
    std::fflush(stdout);
}

void say(const std::string& text)
{
    std::printf("   %s\n", text.c_str());
    std::fflush(stdout);
}

/* The story is over when it is not true. */
void must(bool holds, const std::string& what)
{
    if (!holds)
        throw std::runtime_error("this should be so and is not: " + what);
}

/* How the software devices are made hot, to fail, or to go. */
void emulate(const char* parameter, const std::string& value)
{
    std::ofstream file(std::string("/sys/module/ai_sim/parameters/") + parameter);

    file << value;
    file.flush();
    must(file.good(), std::string(parameter) + " of ai_sim is set to " + value);
}

/* A model on one device, with its input. */
class Caller {
public:
    Caller(const ai::Session& session, const char* device)
        : model_(
              ai::Model::load(session, std::as_bytes(std::span(kModel)),
                              {.name = "detector", .device = session.device(device).or_throw().id})
                  .or_throw()),
          input_(ai::Tensor::allocate(session, ai::DType::kFloat32, ai::Shape(1, 16)).or_throw())
    {
    }

    std::uint32_t model() const { return model_.handle(); }

    ai::Result<ai::Record> request(const ai::Contract* contract = nullptr)
    {
        return ai::infer_into(model_, {&input_, 1}, outputs_, {.contract = contract})
            .transform([](ai::Completion&& done) { return std::move(done.record); });
    }

private:
    ai::Model model_;
    ai::Tensor input_;
    std::vector<ai::Tensor> outputs_;
};

/* Events since the last time, said. */
std::vector<ai::ContractEvent> tell_events(const ai::Contract& contract)
{
    std::vector<ai::ContractEvent> events = contract.events().or_throw();

    for (const ai::ContractEvent& event : events)
        say("event " + std::to_string(event.sequence) + ": " + ai::describe(event));
    return events;
}

bool has(const std::vector<ai::ContractEvent>& events, ai::EventKind kind)
{
    return std::ranges::any_of(events,
                               [&](const ai::ContractEvent& event) { return event.kind == kind; });
}

/* A request each 100 ms: their latencies, the shortest first. */
std::vector<ai::Nanoseconds> send(Caller& caller, const ai::Contract& contract, int count)
{
    std::vector<ai::Nanoseconds> latencies;
    ai::Clock::time_point next = ai::Clock::now();

    for (int i = 0; i < count; i++) {
        std::this_thread::sleep_until(next);
        next += 100ms;
        latencies.push_back(caller.request(&contract).or_throw().latency);
    }
    std::ranges::sort(latencies);
    return latencies;
}

ai::Contract admission(const ai::Session& session, ai::Terms terms)
{
    chapter("A camera asks for a contract");
    say(ai::to_string(terms));
    ai::Contract camera = ai::Contract::create(session, terms).or_throw();
    say("granted: a picture each 100 ms, each done within 200 ms, whatever others do");

    chapter("A lidar asks for more than there is");
    terms = ai::parse_terms("name=lidar device=npu0 latency_p99<=60ms rate>=4Hz service<=15ms")
                .or_throw();
    say(ai::to_string(terms));
    ai::Answer answer = ai::Contract::ask(session, terms).or_throw();
    must(answer.refusal.has_value(), "the lidar is refused");
    say("refused: " + answer.refusal->message);
    must(answer.refusal->offer.has_value(), "the refusal comes with an offer");
    say("would be granted: " + ai::to_string(*answer.refusal->offer));
    answer = ai::Contract::ask(session, *answer.refusal->offer).or_throw();
    must(answer.contract.has_value(), "the offer is granted");
    say("the lidar takes the offer, and later gives it back");
    return camera;
}

void overload(const ai::Session& session, Caller& caller, const ai::Contract& camera)
{
    chapter("Six programs without a contract want all of npu0");
    std::vector<ai::Nanoseconds> alone = send(caller, camera, 20);
    say("the camera alone: " + ai::to_string(alone.back()) + " at worst");

    std::atomic<bool> over = false;
    std::vector<std::jthread> crowd;
    crowd.reserve(6);
    std::atomic<std::int64_t> total = 0;
    std::atomic<std::int64_t> count = 0;
    for (int i = 0; i < 6; i++)
        crowd.emplace_back([&] {
            Caller other(session, "npu0");
            while (!over) {
                ai::Clock::time_point begin = ai::Clock::now();
                other.request().or_throw();
                total += ai::Nanoseconds(ai::Clock::now() - begin).count();
                count++;
            }
        });
    std::this_thread::sleep_for(500ms);
    std::vector<ai::Nanoseconds> beside = send(caller, camera, 30);
    over = true;
    crowd.clear();
    say("the camera beside them: " + ai::to_string(beside.back()) +
        " at worst, since one request of theirs at most is in its way");
    say("they: " + ai::to_string(ai::Nanoseconds(total / std::max<std::int64_t>(count, 1))) +
        " on average");
    ai::ContractInfo info = camera.info().or_throw();
    say("the record: " + std::to_string(info.met) + " results kept all terms, " +
        std::to_string(info.violated) + " did not");
    /* Of 50; a machine that is busy with other things can take time from the VM. */
    must(info.met >= 40, "the terms were kept");
}

void heat(Caller& caller, const ai::Contract& camera)
{
    chapter("It becomes hot, and npu0 slows itself down");
    tell_events(camera);
    emulate("resistance", "1800");
    emulate("ambient", "62");
    bool moved = false;
    for (int i = 0; i < 60 && !moved; i++) {
        caller.request(&camera).or_throw();
        moved = has(tell_events(camera), ai::EventKind::kFallback);
        std::this_thread::sleep_for(100ms);
    }
    must(moved, "the heat moves the camera's requests");
    ai::Record record = caller.request(&camera).or_throw();
    say("a result: " + std::string(ai::to_string(record.service)) + ", from " + record.device_name +
        ", because of " + ai::to_string(record.moved));
    must(record.service == ai::Service::kDegraded && record.device_name == "gpu0",
         "the result comes from gpu0 and says so");
    tell_events(camera);

    chapter("It cools down");
    emulate("ambient", "25");
    emulate("resistance", "300");
    bool returned = false;
    for (int i = 0; i < 100 && !returned; i++) {
        caller.request(&camera).or_throw();
        for (const ai::ContractEvent& event : camera.events().or_throw()) {
            if (event.kind != ai::EventKind::kDegraded)
                say("event " + std::to_string(event.sequence) + ": " + ai::describe(event));
            returned |= event.kind == ai::EventKind::kReturned;
        }
        std::this_thread::sleep_for(100ms);
    }
    must(returned, "the camera's requests go back to npu0");
}

void fuse(const ai::Session& session, Caller& caller)
{
    chapter("A device that fails again and again: the fuse");
    ai::Terms terms = ai::parse_terms("name=door device=npu0 power<=100W fuse=1s").or_throw();
    ai::Contract door = ai::Contract::create(session, terms).or_throw();
    emulate("fail", "10");
    for (int i = 0; i < 10; i++)
        must(!caller.request(&door), "the request fails");
    say("ten requests failed; the next one:");
    ai::Result<ai::Record> refused = caller.request(&door);
    must(!refused && refused.error().code == EAGAIN, "the fuse refuses");
    say("refused at once: " + refused.error().message);
    std::this_thread::sleep_for(1100ms);
    must(caller.request(&door).has_value(), "the probe works");
    std::vector<ai::ContractEvent> events = door.events().or_throw();
    for (const ai::ContractEvent& event : events)
        if (event.kind != ai::EventKind::kFailed)
            say("event " + std::to_string(event.sequence) + ": " + ai::describe(event));
    must(has(events, ai::EventKind::kFuseClosed), "the fuse closes");
}

void loss(const ai::Session& session, Caller& caller, const Caller& spare)
{
    chapter("npu0 is pulled out under a brake that must not fail");
    ai::Terms terms =
        ai::parse_terms("name=brake device=npu0 power<=100W fault=critical fallback=warn")
            .or_throw();
    terms.model = caller.model();
    terms.fallback_model = spare.model();
    ai::Contract brake = ai::Contract::create(session, terms).or_throw();
    emulate("hang", "1");
    std::jthread puller([] {
        std::this_thread::sleep_for(300ms);
        emulate("unplug", "0");
    });
    ai::Record record = caller.request(&brake).or_throw();
    puller.join();
    say("the request that npu0 was working on: " + std::string(ai::to_string(record.service)) +
        ", from " + record.device_name);
    must(record.device_name == "gpu0", "the request is served by gpu0");
    caller.request(&brake).or_throw();
    must(has(tell_events(brake), ai::EventKind::kDeviceLost), "the loss is told");
}

void story()
{
    const ai::Session session = ai::Session::open().or_throw();
    Caller caller(session, "npu0");
    const Caller spare(session, "gpu0");
    ai::Terms terms = ai::parse_terms("name=camera device=npu0 latency_p99<=200ms rate>=10Hz "
                                      "burst=2 service<=45ms energy<=340mJ fallback=warn "
                                      "fuse=1500ms memory(system)>=1MiB")
                          .or_throw();

    terms.model = caller.model();
    terms.fallback_model = spare.model();
    ai::Contract camera = admission(session, terms);
    overload(session, caller, camera);
    heat(caller, camera);
    fuse(session, caller);
    loss(session, caller, spare);
    std::puts("\nthat is the whole story, and all of it was so");
}

} // namespace

int main()
try {
    story();
    return 0;
} catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "demo-contracts: %s\n", error.what());
    return 1;
}
