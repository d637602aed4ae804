/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/contract.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "clock.h"
#include "file.h"
#include "text.h"

namespace ai {

static_assert(static_cast<std::uint32_t>(Term::kDevice) == AI_TERM_DEVICE);
static_assert(static_cast<std::uint32_t>(Service::kDegraded) == AI_SERVICE_DEGRADED);
static_assert(static_cast<std::uint32_t>(EventKind::kUnthrottled) == AI_EVENT_UNTHROTTLED);
static_assert(static_cast<std::uint32_t>(Precision::kFp64) == AI_PRECISION_FP64);
static_assert(static_cast<std::uint32_t>(Fallback::kAllow) == AI_FALLBACK_ALLOW);
static_assert(static_cast<std::uint32_t>(Fuse::kHalfOpen) == AI_FUSE_HALF_OPEN);
static_assert(static_cast<std::uint32_t>(ContractState::kClosed) == AI_CONTRACT_CLOSED);

namespace detail {

struct ContractAccess {
    static Contract make(std::shared_ptr<File> file, int fd)
    {
        return Contract(std::move(file), fd);
    }
};

} // namespace detail

namespace {

constexpr std::size_t kMostMemory = AI_MAX_CONTRACT_MEMORY;
/* Events read at once: as many as the kernel keeps. */
constexpr std::size_t kEventsAtOnce = 32;

std::uint64_t nanoseconds(Nanoseconds time)
{
    return static_cast<std::uint64_t>(time.count());
}

ai_terms to_kernel(const Terms& terms)
{
    ai_terms out{};

    out.latency_ns = nanoseconds(terms.latency);
    out.period_ns = nanoseconds(terms.period);
    out.service_ns = nanoseconds(terms.service);
    out.energy_uj = terms.energy.count();
    out.lapse_ns = nanoseconds(terms.lapse);
    out.fuse_ns = nanoseconds(terms.fuse);
    out.device = static_cast<std::uint32_t>(terms.device);
    out.model = terms.model;
    out.burst = terms.burst;
    out.power_mw = static_cast<std::uint32_t>(terms.power.count());
    out.bandwidth = terms.bandwidth.count();
    out.share = static_cast<std::uint32_t>(terms.share.count());
    out.precision = static_cast<std::uint32_t>(terms.precision);
    out.flags =
        (terms.critical ? AI_TERMS_CRITICAL : 0) | (terms.may_degrade ? AI_TERMS_DEGRADE : 0);
    out.fallback = static_cast<std::uint32_t>(terms.fallback);
    out.fallback_model = terms.fallback_model;
    return out;
}

Terms from_kernel(const ai_terms& terms)
{
    Terms out;

    out.latency = Nanoseconds(terms.latency_ns);
    out.period = Nanoseconds(terms.period_ns);
    out.service = Nanoseconds(terms.service_ns);
    out.energy = Energy(terms.energy_uj);
    out.lapse = Nanoseconds(terms.lapse_ns);
    out.fuse = Nanoseconds(terms.fuse_ns);
    out.device = DeviceId(terms.device);
    out.model = terms.model;
    out.burst = terms.burst;
    out.power = Power(terms.power_mw);
    out.bandwidth = Bandwidth(terms.bandwidth);
    out.share = Share(terms.share);
    out.precision = static_cast<Precision>(terms.precision);
    out.critical = (terms.flags & AI_TERMS_CRITICAL) != 0;
    out.may_degrade = (terms.flags & AI_TERMS_DEGRADE) != 0;
    out.fallback = static_cast<Fallback>(terms.fallback);
    out.fallback_model = terms.fallback_model;
    return out;
}

/* What has no place in the kernel's structs is refused here, never cut. */
Result<void> check(const Terms& terms)
{
    if (terms.name.size() >= AI_NAME_LEN)
        return Error{EINVAL, "the name of the contract has " + std::to_string(terms.name.size()) +
                                 " characters, at most " + std::to_string(AI_NAME_LEN - 1) +
                                 " are possible"};
    for (Nanoseconds time : {terms.latency, terms.period, terms.service, terms.lapse, terms.fuse})
        if (time < Nanoseconds(0))
            return Error{EINVAL, "a time of the terms is " + std::to_string(time.count()) +
                                     " ns, at least 0 is needed"};
    if (terms.power.count() > UINT32_MAX || terms.share.count() > UINT32_MAX)
        return Error{EINVAL, "power or share of the terms is more than 2^32 of its unit"};
    if (terms.memory.size() > kMostMemory)
        return Error{EINVAL, "memory of " + std::to_string(terms.memory.size()) +
                                 " devices is asked for, the most is " +
                                 std::to_string(kMostMemory)};
    return {};
}

ContractEvent from_kernel(const ai_event& event)
{
    return {.sequence = event.sequence,
            .time = Clock::time_point(Nanoseconds(event.time_ns)),
            .kind = static_cast<EventKind>(event.kind),
            .device = DeviceId(event.device),
            .job = event.job,
            .found = event.found,
            .limit = event.limit,
            .term = static_cast<Term>(event.term),
            .other = DeviceId(event.other),
            .jobs = event.jobs};
}

std::vector<ContractEvent> from_kernel(std::span<const ai_event> events)
{
    std::vector<ContractEvent> out;

    out.reserve(events.size());
    for (const ai_event& event : events)
        out.push_back(from_kernel(event));
    return out;
}

ContractInfo from_kernel(const ai_contract_info& info, std::span<const ai_memory_term> memory)
{
    ContractInfo out;

    out.id = info.id;
    out.terms = from_kernel(info.terms);
    out.terms.name = detail::text_of(info.name);
    for (const ai_memory_term& term : memory)
        out.terms.memory.push_back(
            {.home = DeviceId(term.device), .size = Bytes(term.bytes), .used = Bytes(term.used)});
    out.state = static_cast<ContractState>(info.state);
    out.fuse = static_cast<Fuse>(info.fuse);
    out.fuse_left = Nanoseconds(info.fuse_left_ns);
    out.jobs = info.jobs;
    out.failed = info.failed;
    out.met = info.met;
    out.degraded = info.degraded;
    out.violated = info.violated;
    out.excess = info.excess;
    out.overruns = info.overruns;
    out.refused = info.refused;
    out.throttled = info.throttled;
    out.queue = Nanoseconds(info.queue_ns);
    out.run = Nanoseconds(info.run_ns);
    out.energy = Energy(info.energy_uj);
    out.bytes = Bytes(info.bytes);
    out.latency_p50 = Nanoseconds(info.latency_p50_ns);
    out.latency_p95 = Nanoseconds(info.latency_p95_ns);
    out.latency_p99 = Nanoseconds(info.latency_p99_ns);
    out.latency_p999 = Nanoseconds(info.latency_p999_ns);
    out.latency_max = Nanoseconds(info.latency_max_ns);
    out.events = info.events;
    out.events_lost = info.events_lost;
    out.moved = static_cast<Term>(info.moved);
    out.moved_left = Nanoseconds(info.moved_left_ns);
    return out;
}

/* On a contract's descriptor, or on the node with a number. */
Result<ContractInfo> query(const detail::File& file, int fd, std::uint64_t id, std::uint32_t flags)
{
    std::array<ai_memory_term, kMostMemory> memory;
    ai_contract_info info{};

    info.hdr.flags = flags;
    info.id = id;
    info.memory = reinterpret_cast<std::uintptr_t>(memory.data());
    info.capacity = memory.size();
    return file.call_on(fd, AI_CONTRACT_QUERY, "AI_CONTRACT_QUERY", info).and_then([&] {
        std::size_t count = std::min<std::size_t>(info.nr_memory, memory.size());
        return Result<ContractInfo>(from_kernel(info, std::span(memory).first(count)));
    });
}

} // namespace

Result<Answer> Contract::ask(const Session& session, const Terms& terms, Nanoseconds wait)
{
    const std::shared_ptr<detail::File>& file = detail::File::of(session);
    std::array<ai_memory_term, kMostMemory> memory{};
    const std::string name = terms.name.empty() ? "contract" : terms.name;
    ai_contract_create argument{};

    if (Result<void> possible = check(terms); !possible)
        return std::move(possible).error();
    for (std::size_t i = 0; i < terms.memory.size(); i++) {
        memory[i].device = static_cast<std::uint32_t>(terms.memory[i].home);
        memory[i].bytes = terms.memory[i].size.count();
    }
    std::memcpy(argument.name, name.data(), name.size());
    argument.memory = reinterpret_cast<std::uintptr_t>(memory.data());
    argument.nr_memory = static_cast<std::uint32_t>(terms.memory.size());
    argument.wait_until_ns = detail::to_kernel_timeout(wait);
    argument.terms = to_kernel(terms);

    Result<void> result = file->call(AI_CONTRACT_CREATE, "AI_CONTRACT_CREATE", argument);
    Answer answer;
    if (result) {
        answer.contract = detail::ContractAccess::make(file, argument.fd);
        answer.waited_for = static_cast<Term>(argument.term);
        return answer;
    }
    if (argument.answer != AI_ANSWER_REFUSED)
        return std::move(result).error();
    answer.refusal = Refusal{.term = static_cast<Term>(argument.term),
                             .device = DeviceId(argument.device),
                             .needed = argument.needed,
                             .available = argument.available,
                             .message = result.error().message};
    if (argument.offered) {
        answer.refusal->offer = from_kernel(argument.offer);
        answer.refusal->offer->name = terms.name;
        answer.refusal->offer->memory = terms.memory;
    }
    return answer;
}

Result<Contract> Contract::create(const Session& session, const Terms& terms, Nanoseconds wait)
{
    Result<Answer> answer = ask(session, terms, wait);

    if (!answer)
        return std::move(answer).error();
    if (!answer->contract)
        return Error{EDQUOT, answer->refusal->message};
    return std::move(*answer->contract);
}

Contract Contract::adopt(const Session& session, int fd)
{
    return detail::ContractAccess::make(detail::File::of(session), fd);
}

Contract::Contract(std::shared_ptr<detail::File> file, int fd) : file_(std::move(file)), fd_(fd) {}

Contract::Contract(Contract&& other) noexcept
    : file_(std::move(other.file_)), fd_(std::exchange(other.fd_, -1))
{
}

Contract& Contract::operator=(Contract&& other) noexcept
{
    if (this != &other) {
        close();
        file_ = std::move(other.file_);
        fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
}

Contract::~Contract()
{
    close();
}

void Contract::close() noexcept
{
    if (fd_ >= 0)
        file_->syscalls().close(fd_);
    fd_ = -1;
}

Result<void> Contract::check_open() const
{
    if (fd_ >= 0)
        return {};
    return Error{EBADF, "the contract is closed"};
}

int Contract::fd() const
{
    return fd_;
}

Result<ContractInfo> Contract::info() const
{
    return check_open().and_then([&] { return query(*file_, fd_, 0, 0); });
}

Result<std::vector<ContractEvent>> Contract::events() const
{
    std::array<ai_event, kEventsAtOnce> events;
    Result<bool> some = wait(Nanoseconds(0));

    if (!some)
        return std::move(some).error();
    if (!*some)
        return std::vector<ContractEvent>();
    long got = -EINTR;
    while (got == -EINTR)
        got = file_->syscalls().read(fd_, std::as_writable_bytes(std::span(events)));
    if (got < 0)
        return Error{static_cast<int>(-got), "events of the contract cannot be read: " +
                                                 detail::error_text(static_cast<int>(-got))};
    return from_kernel(
        std::span<const ai_event>(events).first(static_cast<std::size_t>(got) / sizeof(ai_event)));
}

Result<bool> Contract::wait(Nanoseconds timeout) const
{
    if (Result<void> open = check_open(); !open)
        return std::move(open).error();
    int ret = file_->syscalls().wait_readable(fd_, timeout);
    if (ret < 0)
        return Error{-ret,
                     "events of the contract cannot be waited for: " + detail::error_text(-ret)};
    return ret > 0;
}

Result<void> Contract::renew() const
{
    ai_contract_renew argument{};

    return check_open().and_then(
        [&] { return file_->call_on(fd_, AI_CONTRACT_RENEW, "AI_CONTRACT_RENEW", argument); });
}

Result<std::vector<ContractInfo>> contracts(const Session& session)
{
    const detail::File& file = *detail::File::of(session);
    std::vector<ContractInfo> all;
    std::uint64_t next = 0;

    for (;;) {
        Result<ContractInfo> info = query(file, file.fd(), next, AI_CONTRACT_NEXT);
        if (!info && info.error().code == ENOENT)
            return all;
        if (!info)
            return std::move(info).error();
        next = info->id + 1;
        all.push_back(std::move(*info));
    }
}

Result<ContractInfo> contract_info(const Session& session, std::uint64_t id)
{
    const detail::File& file = *detail::File::of(session);

    return query(file, file.fd(), id, 0);
}

Result<std::vector<ContractEvent>> contract_events(const Session& session, std::uint64_t id,
                                                   std::uint64_t after)
{
    std::array<ai_event, kEventsAtOnce> events;
    ai_contract_events argument{};

    argument.id = id;
    argument.after = after;
    argument.events = reinterpret_cast<std::uintptr_t>(events.data());
    argument.capacity = events.size();
    return detail::File::of(session)
        ->call(AI_CONTRACT_EVENTS, "AI_CONTRACT_EVENTS", argument)
        .and_then([&] {
            std::size_t count = std::min<std::size_t>(argument.count, events.size());
            return Result<std::vector<ContractEvent>>(
                from_kernel(std::span<const ai_event>(events).first(count)));
        });
}

Result<std::uint32_t> reset_fuse(const Session& session, std::string_view name)
{
    ai_fuse_reset argument{};

    if (name.size() >= AI_NAME_LEN)
        return Error{EINVAL, "the name has " + std::to_string(name.size()) +
                                 " characters, at most " + std::to_string(AI_NAME_LEN - 1) +
                                 " are possible"};
    std::memcpy(argument.name, name.data(), name.size());
    return detail::File::of(session)->call(AI_FUSE_RESET, "AI_FUSE_RESET", argument).and_then([&] {
        return Result<std::uint32_t>(argument.closed);
    });
}

} // namespace ai
