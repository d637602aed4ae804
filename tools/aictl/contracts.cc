/* SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <cerrno>

#include "commands.h"
#include "table.h"

namespace aictl {

namespace {

Json memory_json(const std::vector<ai::MemoryTerm>& memory)
{
    Json json = Json::array();

    for (const ai::MemoryTerm& term : memory)
        json.push_back({{"device", ai::device_name(term.home)},
                        {"bytes", term.size.count()},
                        {"used_bytes", term.used.count()}});
    return json;
}

Json terms_json(const ai::Terms& terms)
{
    return {{"text", ai::to_string(terms)},
            {"device", terms.device == ai::kSystem ? Json() : Json(ai::device_name(terms.device))},
            {"latency_ns", terms.latency.count()},
            {"period_ns", terms.period.count()},
            {"burst", terms.burst},
            {"service_ns", terms.service.count()},
            {"energy_uj", terms.energy.count()},
            {"power_mw", terms.power.count()},
            {"bandwidth_bytes_per_s", terms.bandwidth.count()},
            {"share_ppm", terms.share.count()},
            {"precision", ai::to_string(terms.precision)},
            {"fallback", ai::to_string(terms.fallback)},
            {"critical", terms.critical},
            {"may_degrade", terms.may_degrade},
            {"lapse_ns", terms.lapse.count()},
            {"fuse_ns", terms.fuse.count()},
            {"memory", memory_json(terms.memory)}};
}

Json to_json(const ai::ContractInfo& info)
{
    return {{"id", info.id},
            {"name", info.terms.name},
            {"state", ai::to_string(info.state)},
            {"terms", terms_json(info.terms)},
            {"jobs", info.jobs},
            {"failed", info.failed},
            {"met", info.met},
            {"degraded", info.degraded},
            {"violated", info.violated},
            {"excess", info.excess},
            {"overruns", info.overruns},
            {"throttled", info.throttled},
            {"latency_p50_ns", info.latency_p50.count()},
            {"latency_p95_ns", info.latency_p95.count()},
            {"latency_p99_ns", info.latency_p99.count()},
            {"latency_p999_ns", info.latency_p999.count()},
            {"latency_max_ns", info.latency_max.count()},
            {"queue_ns", info.queue.count()},
            {"run_ns", info.run.count()},
            {"energy_uj", info.energy.count()},
            {"bytes", info.bytes.count()},
            {"fuse", ai::to_string(info.fuse)},
            {"fuse_left_ns", info.fuse_left.count()},
            {"refused", info.refused},
            {"moved", info.moved == ai::Term::kNone ? Json() : Json(ai::to_string(info.moved))},
            {"moved_left_ns", info.moved_left.count()},
            {"events", info.events},
            {"events_lost", info.events_lost}};
}

/* What is used of all that is reserved, in whatever memory. */
std::string memory_word(const std::vector<ai::MemoryTerm>& memory)
{
    ai::Bytes used;
    ai::Bytes reserved;

    if (memory.empty())
        return "";
    for (const ai::MemoryTerm& term : memory) {
        used += term.used;
        reserved += term.size;
    }
    return word(used) + "/" + word(reserved);
}

void print_table(const Context& context, const std::vector<ai::ContractInfo>& contracts)
{
    Table table({"ID", "DEVICE", "STATE", "JOBS", "FAILED", "P50", "P95", "P99", "P99.9", "MAX",
                 "VIOLATED", "DEGRADED", "ENERGY", "FUSE", "MOVED", "MEMORY", "NAME"});

    for (const ai::ContractInfo& info : contracts)
        table.add({std::to_string(info.id),
                   info.terms.device == ai::kSystem ? "" : ai::device_name(info.terms.device),
                   ai::to_string(info.state), std::to_string(info.jobs),
                   std::to_string(info.failed), word(info.latency_p50), word(info.latency_p95),
                   word(info.latency_p99), word(info.latency_p999), word(info.latency_max),
                   std::to_string(info.violated), std::to_string(info.degraded), word(info.energy),
                   ai::to_string(info.fuse),
                   info.moved == ai::Term::kNone ? "" : ai::to_string(info.moved),
                   memory_word(info.terms.memory), info.terms.name});
    table.print(context.out, context.options.header);
}

void print_one(std::ostream& out, const ai::ContractInfo& info)
{
    ai::Terms terms = info.terms;

    terms.name.clear();
    out << "contract   " << info.id << " " << printable(info.terms.name) << ", "
        << ai::to_string(info.state) << "\n"
        << "terms      " << ai::to_string(terms) << "\n"
        << "results    " << info.jobs << ": " << info.met << " met, " << info.degraded
        << " degraded, " << info.violated << " violated, " << info.excess << " came too soon; "
        << info.failed << " requests failed\n"
        << "latency    p50 " << ai::to_string(info.latency_p50) << ", p95 "
        << ai::to_string(info.latency_p95) << ", p99 " << ai::to_string(info.latency_p99)
        << ", p99.9 " << ai::to_string(info.latency_p999) << ", max "
        << ai::to_string(info.latency_max) << "\n"
        << "device     " << ai::to_string(info.run) << " busy, " << ai::to_string(info.queue)
        << " waited for, " << info.overruns << " overruns, " << info.throttled
        << " results while it was throttled\n"
        << "energy     " << ai::to_string(info.energy) << "\n"
        << "data       " << ai::to_string(info.bytes) << "\n"
        << "fuse       " << ai::to_string(info.fuse) << ", " << info.refused << " refused";
    if (info.fuse == ai::Fuse::kOpen)
        out << ", a probe in " << ai::to_string(info.fuse_left);
    out << "\n";
    if (info.moved != ai::Term::kNone)
        out << "fallback   because of " << ai::to_string(info.moved)
            << ", the contract's device is tried in " << ai::to_string(info.moved_left) << "\n";
    for (const ai::MemoryTerm& term : info.terms.memory)
        out << "memory     " << ai::to_string(term.used) << " of " << ai::to_string(term.size)
            << " of " << ai::device_name(term.home) << "\n";
    out << "events     " << info.events << ", of which " << info.events_lost << " were lost\n";
}

} // namespace

ai::Result<std::vector<ai::ContractInfo>> chosen_contracts(const ai::Session& session,
                                                           std::span<const std::string> wanted)
{
    ai::Result<std::vector<ai::ContractInfo>> all = ai::contracts(session);
    std::vector<ai::ContractInfo> chosen;

    if (!all || wanted.empty())
        return all;
    for (const std::string& name : wanted) {
        bool found = false;
        for (const ai::ContractInfo& info : *all) {
            if (info.terms.name != name && std::to_string(info.id) != name)
                continue;
            found = true;
            /* One may be named in two ways. */
            if (std::ranges::find(chosen, info.id, &ai::ContractInfo::id) == chosen.end())
                chosen.push_back(info);
        }
        if (found)
            continue;
        std::string names;
        for (const ai::ContractInfo& info : *all)
            names.append(names.empty() ? "" : ", ").append(info.terms.name);
        return ai::Error{ENOENT, "you may see no contract '" + name + "'; there " +
                                     (names.empty() ? "are none" : "is: " + names)};
    }
    return chosen;
}

ai::Result<void> run_contracts(const Context& context)
{
    ai::Result<std::vector<ai::ContractInfo>> contracts =
        chosen_contracts(context.session, context.options.arguments);
    if (!contracts)
        return std::move(contracts).error();

    if (context.options.names) {
        std::vector<std::string> names;
        for (const ai::ContractInfo& info : *contracts)
            names.push_back(printable(info.terms.name));
        std::ranges::sort(names);
        names.erase(std::unique(names.begin(), names.end()), names.end());
        for (const std::string& name : names)
            context.out << name << '\n';
    } else if (context.options.json) {
        Json json = Json::array();
        for (const ai::ContractInfo& info : *contracts)
            json.push_back(to_json(info));
        print_json(context.out, json);
    } else if (context.options.arguments.empty()) {
        print_table(context, *contracts);
    } else {
        for (const ai::ContractInfo& info : *contracts)
            print_one(context.out, info);
    }
    return {};
}

/* ---- fuses ---- */

namespace {

ai::Result<void> reset(const Context& context, const std::string& name)
{
    ai::Result<std::uint32_t> closed = ai::reset_fuse(context.session, name);

    if (!closed)
        return std::move(closed).error();
    if (context.options.json)
        print_json(context.out, {{"name", name}, {"closed", *closed}});
    else
        context.out << *closed << (*closed == 1 ? " fuse" : " fuses") << " of " << name
                    << " closed\n";
    return {};
}

} // namespace

ai::Result<void> run_fuse(const Context& context)
{
    const std::vector<std::string>& words = context.options.arguments;

    if (!words.empty() && (words.size() != 2 || words[0] != "reset"))
        return ai::Error{EINVAL, "aictl fuse takes nothing, or 'reset' and the name of contracts"};
    if (words.size() == 2)
        return reset(context, words[1]);

    ai::Result<std::vector<ai::ContractInfo>> contracts = ai::contracts(context.session);
    if (!contracts)
        return std::move(contracts).error();
    Json json = Json::array();
    Table table({"ID", "FUSE", "LEFT", "REFUSED", "NAME"});
    for (const ai::ContractInfo& info : *contracts) {
        json.push_back({{"id", info.id},
                        {"name", info.terms.name},
                        {"fuse", ai::to_string(info.fuse)},
                        {"fuse_left_ns", info.fuse_left.count()},
                        {"refused", info.refused}});
        table.add({std::to_string(info.id), ai::to_string(info.fuse),
                   info.fuse == ai::Fuse::kOpen ? word(info.fuse_left) : "",
                   std::to_string(info.refused), info.terms.name});
    }
    if (context.options.json)
        print_json(context.out, json);
    else
        table.print(context.out, context.options.header);
    return {};
}

} // namespace aictl
