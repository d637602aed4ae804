/* SPDX-License-Identifier: Apache-2.0 */
/* What happened to contracts, for people. */
#include <array>
#include <cmath>
#include <string_view>

#include <ai/contract.h>

#include "text.h"

namespace ai {

namespace {

constexpr std::array<const char*, 11> kTerms{"none",      "memory",    "addresses", "rate",
                                             "latency",   "energy",    "power",     "share",
                                             "bandwidth", "precision", "device"};
constexpr std::array<const char*, 16> kKinds{
    "unknown",     "latency",          "energy",      "power",
    "failed",      "lapsed",           "renewed",     "device-lost",
    "fuse-opened", "fuse-half-opened", "fuse-closed", "fallback",
    "returned",    "degraded",         "throttled",   "unthrottled"};
constexpr std::array<const char*, 5> kServices{"none", "met", "excess", "violated", "degraded"};
constexpr std::array<const char*, 3> kStates{"active", "lapsed", "closed"};
constexpr std::array<const char*, 3> kFuses{"closed", "open", "half-open"};

template <typename Enum, std::size_t N>
const char* name_of(Enum value, const std::array<const char*, N>& names)
{
    auto i = static_cast<std::size_t>(value);

    return i < N ? names[i] : "unknown";
}

std::string in_unit_of(Term term, std::uint64_t value)
{
    switch (term) {
    case Term::kLatency:
        return to_string(Nanoseconds(value));
    case Term::kEnergy:
        return to_string(Energy(value));
    case Term::kPower:
        return to_string(Power(value));
    default:
        return std::to_string(value);
    }
}

/* "energy exceeded by 23 %" */
std::string exceeded(const ContractEvent& event)
{
    const double over =
        event.limit
            ? (static_cast<double>(event.found) / static_cast<double>(event.limit) - 1) * 100
            : 0;
    const std::string text = std::string(to_string(event.term)) + " exceeded by ";
    const long long percent = std::llround(over);

    return text + (percent ? std::to_string(percent) : "less than 1") + " %";
}

std::string breach(const ContractEvent& event)
{
    return exceeded(event) + ": " + in_unit_of(event.term, event.found) + ", at most " +
           in_unit_of(event.term, event.limit);
}

/* Of an event that has it: "(job 17 on npu0)"; it may have run on the fallback. */
std::string where(const ContractEvent& event)
{
    std::string text = " (";

    if (event.job)
        text += "job " + std::to_string(event.job) + " on ";
    return text + device_name(event.other != kSystem ? event.other : event.device) + ")";
}

std::string degrees(std::uint64_t thousandths)
{
    std::string text = std::to_string(thousandths / 1000);

    return text + "." + std::to_string(thousandths % 1000 / 100) + " C";
}

std::string failure(std::uint64_t number)
{
    return detail::error_text(static_cast<int>(number));
}

/* Of a result of the fallback, if it says so: ", with int8 instead of fp16". */
std::string precision(const ContractEvent& event)
{
    if (event.found >= event.limit || event.found == 0)
        return "";
    return std::string(", with ") + to_string(static_cast<Precision>(event.found)) +
           " instead of " + to_string(static_cast<Precision>(event.limit));
}

std::string fallback(const ContractEvent& event)
{
    std::string why = event.term != Term::kDevice ? exceeded(event)
                      : event.found               ? "requests failed, " + failure(event.found)
                                                  : "the device does not work";
    std::string text = "requests go from " + device_name(event.device) + " to " +
                       device_name(event.other) + ": " + why;
    if (event.jobs)
        text += ", " + std::to_string(event.jobs) + " times running";
    return text;
}

} // namespace

const char* to_string(Term term)
{
    return name_of(term, kTerms);
}

const char* to_string(EventKind kind)
{
    return name_of(kind, kKinds);
}

const char* to_string(Service service)
{
    return name_of(service, kServices);
}

const char* to_string(ContractState state)
{
    return name_of(state, kStates);
}

const char* to_string(Fuse fuse)
{
    return name_of(fuse, kFuses);
}

std::string describe(const ContractEvent& event)
{
    switch (event.kind) {
    case EventKind::kLatency:
    case EventKind::kEnergy:
    case EventKind::kPower:
        return breach(event) + where(event);
    case EventKind::kFailed:
        return "a request failed: " + failure(event.found) + where(event);
    case EventKind::kLapsed:
        return "the reservations lapsed, unused for " + to_string(Nanoseconds(event.found));
    case EventKind::kRenewed:
        return "the reservations hold again";
    case EventKind::kDeviceLost:
        return device_name(event.device) + " failed or was removed";
    case EventKind::kFuseOpened:
        return "the fuse opened after " + std::to_string(event.found) +
               " bad requests running: all are refused for " + to_string(Nanoseconds(event.limit));
    case EventKind::kFuseHalfOpened:
        return "the fuse is half open: a probe is let through" + where(event);
    case EventKind::kFuseClosed:
        return "the fuse is closed again";
    case EventKind::kFallback:
        return fallback(event);
    case EventKind::kReturned:
        return "requests go back from " + device_name(event.other) + " to " +
               device_name(event.device);
    case EventKind::kDegraded:
        return "a result came from " + device_name(event.other) + ", because of " +
               to_string(event.term) + precision(event) + " (job " + std::to_string(event.job) +
               ")";
    case EventKind::kThrottled:
        return device_name(event.device) + " slows itself down: " + degrees(event.found) +
               ", at most " + degrees(event.limit);
    case EventKind::kUnthrottled:
        return device_name(event.device) + " has slowed itself down for " +
               to_string(Nanoseconds(event.found)) + ", which " + std::to_string(event.jobs) +
               " results felt";
    }
    return "an event that this program does not know, number " +
           std::to_string(static_cast<std::uint32_t>(event.kind));
}

} // namespace ai
