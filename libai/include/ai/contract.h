/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract: terms that the kernel has calculated that it can keep, and the record
 * of how it did.
 *
 *     auto contract = ai::Contract::create(session, terms).or_throw();
 *     auto done = ai::infer(model, {&input, 1}, {.contract = &contract}).or_throw();
 *     if (done.record.service == ai::Service::kViolated)
 *         for (const ai::ContractEvent& event : contract.events().value())
 *             std::puts(ai::describe(event).c_str());
 */
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ai/export.h>
#include <ai/result.h>
#include <ai/session.h>
#include <ai/terms.h>
#include <ai/types.h>

namespace ai {

enum class Term : std::uint32_t {
    kNone = 0,
    kMemory = 1,
    kAddresses = 2,
    kRate = 3,
    kLatency = 4,
    kEnergy = 5,
    kPower = 6,
    kShare = 7,
    kBandwidth = 8,
    kPrecision = 9,
    kDevice = 10,
};

/* "memory", "latency", ... */
LIBAI_API const char* to_string(Term term);

enum class EventKind : std::uint32_t {
    kLatency = 1,
    kEnergy = 2,
    kPower = 3,
    kFailed = 4,
    kLapsed = 5,
    kRenewed = 6,
    kDeviceLost = 7,
    kFuseOpened = 8,
    kFuseHalfOpened = 9,
    kFuseClosed = 10,
    kFallback = 11,
    kReturned = 12,
    kDegraded = 13,
    kThrottled = 14,
    kUnthrottled = 15,
};

/* "latency", "fuse-opened", ... */
LIBAI_API const char* to_string(EventKind kind);

/* Something that happened to a contract; enum ai_event_kind says what the values are. */
struct ContractEvent {
    std::uint64_t sequence = 0; /* from 1; a gap is what was lost */
    Clock::time_point time{};
    EventKind kind{};
    DeviceId device{};
    std::uint64_t job = 0; /* 0: about none */
    std::uint64_t found = 0;
    std::uint64_t limit = 0;
    Term term = Term::kNone;
    DeviceId other{};       /* the other device, with a fallback */
    std::uint64_t jobs = 0; /* requests it is about */
};

/* One sentence, for example "energy exceeded by 23 %: 1.23 J, at most 1 J (job 17 on npu0)". */
LIBAI_API std::string describe(const ContractEvent& event);

/* How a result compares with the terms of its contract. */
enum class Service : std::uint32_t {
    kNone = 0,     /* there is no contract */
    kMet = 1,      /* all terms were kept */
    kExcess = 2,   /* it came too soon, and was served like one without a contract */
    kViolated = 3, /* a term was broken */
    kDegraded = 4, /* no term was broken, on the fallback */
};

/* "none", "met", "excess", "violated" or "degraded". */
LIBAI_API const char* to_string(Service service);

enum class ContractState : std::uint32_t { kActive = 0, kLapsed = 1, kClosed = 2 };
enum class Fuse : std::uint32_t { kClosed = 0, kOpen = 1, kHalfOpen = 2 };

/* "active", "lapsed" or "closed". */
LIBAI_API const char* to_string(ContractState state);
/* "closed", "open" or "half-open". */
LIBAI_API const char* to_string(Fuse fuse);

/* What became of a contract, at one moment. */
struct ContractInfo {
    std::uint64_t id = 0;
    Terms terms{}; /* as granted, with the memory used of each reservation */
    ContractState state = ContractState::kActive;
    Fuse fuse = Fuse::kClosed;
    Nanoseconds fuse_left{};  /* until an open fuse lets a probe through */
    std::uint64_t jobs = 0;   /* requests that ended with a result */
    std::uint64_t failed = 0; /* ... without one */
    std::uint64_t met = 0;
    std::uint64_t degraded = 0;
    std::uint64_t violated = 0;
    std::uint64_t excess = 0;
    std::uint64_t overruns = 0;  /* kept the device longer than the service time */
    std::uint64_t refused = 0;   /* by the fuse */
    std::uint64_t throttled = 0; /* results while the device slowed itself down */
    Nanoseconds queue{};         /* time spent waiting, in all */
    Nanoseconds run{};           /* time the device was busy, in all */
    Energy energy{};
    Bytes bytes{}; /* tensor data */
    Nanoseconds latency_p50{}, latency_p95{}, latency_p99{}, latency_p999{}, latency_max{};
    std::uint64_t events = 0;
    std::uint64_t events_lost = 0;
    Term moved = Term::kNone; /* why requests go to the fallback now */
    Nanoseconds moved_left{}; /* until one is tried on the contract's device */
};

/* Why a contract was not granted. */
struct Refusal {
    Term term = Term::kNone;
    DeviceId device{};
    std::uint64_t needed = 0; /* in the unit of the term, see struct ai_contract_create */
    std::uint64_t available = 0;
    std::optional<Terms> offer{}; /* the nearest terms that would have been granted */
    std::string message{};        /* the kernel's sentence */
};

struct Answer;

namespace detail {
struct ContractAccess;
}

/*
 * A granted contract. Move-only; what it reserves is given back when it goes and no
 * copy of its descriptor is left. All const members may be called from several
 * threads at once.
 */
class LIBAI_API Contract {
public:
    /*
     * Asks for @terms. A refusal is an answer, not an error; errors are for terms that
     * cannot be. Blocks for at most @wait, while what is over budget may become free.
     */
    static Result<Answer> ask(const Session& session, const Terms& terms,
                              Nanoseconds wait = Nanoseconds{0});

    /* The same where a refusal is an error, EDQUOT. */
    static Result<Contract> create(const Session& session, const Terms& terms,
                                   Nanoseconds wait = Nanoseconds{0});

    /* Takes over a descriptor that somebody sent. */
    static Contract adopt(const Session& session, int fd);

    Contract(Contract&&) noexcept;
    Contract& operator=(Contract&&) noexcept;
    ~Contract();

    /*
     * Ends it now. No other member may be running; those that are called afterwards
     * fail with EBADF.
     */
    void close() noexcept;

    /*
     * The descriptor, which the contract goes on owning: for poll() and for sending it.
     * -1 once it is closed or moved from.
     */
    int fd() const;

    Result<ContractInfo> info() const;

    /* Events that were not read yet, the oldest first; empty if there are none. */
    Result<std::vector<ContractEvent>> events() const;

    /* Whether there are events, after at most @timeout (negative: without end). */
    Result<bool> wait(Nanoseconds timeout) const;

    /* Counts as use; after a lapse asks for the reservations again. EDQUOT. */
    Result<void> renew() const;

private:
    friend struct detail::ContractAccess;
    Contract(std::shared_ptr<detail::File> file, int fd);
    Result<void> check_open() const;

    std::shared_ptr<detail::File> file_;
    int fd_ = -1;
};

/* What the kernel answers: a contract, or why there is none. */
struct Answer {
    std::optional<Contract> contract{};
    Term waited_for = Term::kNone; /* of a contract that was granted after waiting */
    std::optional<Refusal> refusal{};
};

/* The contracts of the caller's user, all of them with CAP_SYS_ADMIN. */
LIBAI_API Result<std::vector<ContractInfo>> contracts(const Session& session);

/* One of them. ENOENT. */
LIBAI_API Result<ContractInfo> contract_info(const Session& session, std::uint64_t id);

/*
 * Events of one of them after number @after, as far as they are kept. Whoever owns
 * the contract can read them all the same.
 */
LIBAI_API Result<std::vector<ContractEvent>>
contract_events(const Session& session, std::uint64_t id, std::uint64_t after = 0);

/* Closes the fuses of all contracts of that name: how many were not. Needs CAP_SYS_ADMIN. */
LIBAI_API Result<std::uint32_t> reset_fuse(const Session& session, std::string_view name);

} // namespace ai
