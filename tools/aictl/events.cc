/* SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <set>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "commands.h"
#include "table.h"

namespace aictl {

namespace {

using namespace std::chrono_literals;

/* How often contracts are looked at with --follow. */
constexpr std::chrono::milliseconds kPause = 250ms;

volatile std::sig_atomic_t stop_requested = 0;

void request_stop(int /*signal*/)
{
    stop_requested = 1;
}

/* SIGINT and SIGTERM end the loop, not the program, while this exists. */
class StopSignals {
public:
    StopSignals()
    {
        struct sigaction action {};
        action.sa_handler = request_stop;
        stop_requested = 0;
        ::sigaction(SIGINT, &action, &interrupt_);
        ::sigaction(SIGTERM, &action, &terminate_);
    }
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;
    ~StopSignals()
    {
        ::sigaction(SIGINT, &interrupt_, nullptr);
        ::sigaction(SIGTERM, &terminate_, nullptr);
    }

private:
    struct sigaction interrupt_ {};
    struct sigaction terminate_ {};
};

class Watcher {
public:
    explicit Watcher(const Context& context) : context_(context) {}

    /* Prints what is new. That nothing is left to watch is no error. */
    ai::Result<void> look();

private:
    /* Something new of a contract: an event, before which some may be missed. */
    struct News {
        const ai::ContractInfo& info;
        ai::ContractEvent event;
        std::uint64_t missed;
    };

    ai::Result<void> look_at(const ai::ContractInfo& info, std::vector<News>& news);
    void print(const News& news);
    void print_gap(const ai::ContractInfo& info, std::uint64_t missed);
    void print_ended(std::uint64_t id, const std::string& name);

    const Context& context_;
    struct Seen {
        std::string name;
        std::uint64_t last;
    };
    std::map<std::uint64_t, Seen> seen_;
    bool watched_ = false;
};

Json to_json(const ai::ContractInfo& info, const ai::ContractEvent& event)
{
    return {{"contract", info.id},
            {"name", info.terms.name},
            {"sequence", event.sequence},
            {"time_ns", event.time.time_since_epoch().count()},
            {"event", ai::to_string(event.kind)},
            {"device", ai::device_name(event.device)},
            {"job", event.job},
            {"term", event.term == ai::Term::kNone ? Json() : Json(ai::to_string(event.term))},
            {"found", event.found},
            {"limit", event.limit},
            {"other", event.other == ai::kSystem ? Json() : Json(ai::device_name(event.other))},
            {"jobs", event.jobs},
            {"text", ai::describe(event)}};
}

std::string seconds(ai::Clock::time_point time)
{
    char text[64];
    double s = std::chrono::duration<double>(time.time_since_epoch()).count();

    std::snprintf(text, sizeof(text), "%.6f", s);
    return text;
}

void Watcher::print(const News& news)
{
    const ai::ContractInfo& info = news.info;
    const ai::ContractEvent& event = news.event;

    if (news.missed)
        print_gap(info, news.missed);
    if (context_.options.json)
        print_json_line(context_.out, to_json(info, event));
    else
        context_.out << seconds(event.time) << "  " << info.id << " " << printable(info.terms.name)
                     << " #" << event.sequence << "  " << ai::describe(event) << '\n';
}

void Watcher::print_gap(const ai::ContractInfo& info, std::uint64_t missed)
{
    if (context_.options.json)
        print_json_line(context_.out, {{"contract", info.id},
                                       {"name", info.terms.name},
                                       {"event", "missed"},
                                       {"missed", missed}});
    else
        context_.out << "               " << info.id << " " << printable(info.terms.name) << "  "
                     << missed << " events are no longer kept\n";
}

void Watcher::print_ended(std::uint64_t id, const std::string& name)
{
    if (context_.options.json)
        print_json_line(context_.out, {{"contract", id}, {"name", name}, {"event", "ended"}});
    else
        context_.out << "               " << id << " " << printable(name)
                     << "  the contract has ended\n";
}

ai::Result<void> Watcher::look_at(const ai::ContractInfo& info, std::vector<News>& news)
{
    /* Numbers of events are those of a contract: one that begins later has others. */
    std::uint64_t since = watched_ ? 0 : context_.options.since;
    auto [entry, is_new] = seen_.try_emplace(info.id, Seen{info.terms.name, since});
    std::uint64_t& last = entry->second.last;
    ai::Result<std::vector<ai::ContractEvent>> events =
        ai::contract_events(context_.session, info.id, last);

    if (!events && events.error().code == ENOENT)
        return {};
    if (!events)
        return std::move(events).error();
    for (const ai::ContractEvent& event : *events) {
        news.push_back({info, event, event.sequence - last - 1});
        last = event.sequence;
    }
    return {};
}

ai::Result<void> Watcher::look()
{
    ai::Result<std::vector<ai::ContractInfo>> contracts =
        chosen_contracts(context_.session, context_.options.arguments);
    std::set<std::uint64_t> present;
    std::vector<News> all;

    /* Once watched, contracts may come and go. */
    if (!contracts && contracts.error().code == ENOENT && watched_)
        contracts = std::vector<ai::ContractInfo>();
    if (!contracts)
        return std::move(contracts).error();
    for (const ai::ContractInfo& info : *contracts) {
        present.insert(info.id);
        if (ai::Result<void> looked = look_at(info, all); !looked)
            return looked;
    }
    watched_ = true;
    std::vector<const News*> in_time;
    in_time.reserve(all.size());
    for (const News& news : all)
        in_time.push_back(&news);
    std::ranges::stable_sort(in_time, {}, [](const News* news) { return news->event.time; });
    for (const News* news : in_time)
        print(*news);
    std::erase_if(seen_, [&](const auto& entry) {
        if (present.contains(entry.first))
            return false;
        print_ended(entry.first, entry.second.name);
        return true;
    });
    context_.out.flush();
    return {};
}

/* Waits; false if nobody reads what is written any more. */
bool pause()
{
    pollfd output{STDOUT_FILENO, 0, 0};

    return ::poll(&output, 1, static_cast<int>(kPause.count())) <= 0 ||
           !(output.revents & (POLLERR | POLLHUP));
}

} // namespace

ai::Result<void> run_events(const Context& context)
{
    Watcher watcher(context);
    ai::Result<void> result = watcher.look();

    if (!context.options.follow || !result)
        return result;
    StopSignals signals;
    while (!stop_requested && result && context.out && pause())
        if (!stop_requested)
            result = watcher.look();
    return result;
}

} // namespace aictl
