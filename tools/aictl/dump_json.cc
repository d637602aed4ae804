/* SPDX-License-Identifier: Apache-2.0 */
#include <array>
#include <cstdio>
#include <string>

#include "dump_show.h"

namespace aictl {

namespace {

std::string hex(std::uint64_t value)
{
    std::array<char, 19> text{};

    std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
    return text.data();
}

/* Of a table of names that begins at 1; a number of later has none. */
template <std::size_t N> Json name_of(const std::array<const char*, N>& names, std::uint64_t value)
{
    if (value == 0)
        return {};
    return value <= N ? Json(names[value - 1]) : Json(value);
}

constexpr std::array kSections{"device",  "sensors",   "registers",   "driver",
                               "queue",   "contracts", "events",      "decisions",
                               "tensors", "ptes",      "firmware_log"};
constexpr std::array kJobStates{"waits", "in flight"};
constexpr std::array kDecisions{"contract granted", "contract refused",  "contract lapsed",
                                "contract renewed", "fuse opened",       "fuse half opened",
                                "fuse closed",      "moved to fallback", "returned",
                                "health",           "generation",        "job failed",
                                "job timed out",    "job aborted",       "job runs again"};

Json term_of(std::uint32_t term)
{
    return term ? Json(ai::to_string(static_cast<ai::Term>(term))) : Json();
}

Json device_of(std::uint32_t device)
{
    return device ? Json(ai::device_name(static_cast<ai::DeviceId>(device))) : Json();
}

std::string health_of(std::uint32_t health)
{
    return ai::to_string(static_cast<ai::Health>(health));
}

std::string permissions(bool read, bool write)
{
    return std::string(read ? "r" : "-") + (write ? "w" : "-");
}

/* Names of the bits of @flags, or null. */
Json flags_of(std::uint32_t flags, std::span<const char* const> names)
{
    std::string text;

    for (std::size_t i = 0; i < names.size(); i++)
        if (flags & (1U << i))
            text += (text.empty() ? "" : ",") + std::string(names[i]);
    return text.empty() ? Json() : Json(text);
}

Json to_json(const ai_dump_device& d)
{
    return {{"name", dump_text(d.name)},
            {"id", d.device},
            {"product", dump_text(d.product)},
            {"bus", dump_text(d.bus)},
            {"firmware", dump_text(d.firmware)},
            {"engine", dump_text(d.engine)},
            {"health", health_of(d.health)},
            {"properties", hex(d.properties)},
            {"generation", d.generation},
            {"queue_depth", d.queue_depth},
            {"queued", d.queued},
            {"in_flight", d.inflight},
            {"claims", d.claims},
            {"address_spaces", d.address_spaces},
            {"max_address_spaces", d.max_address_spaces},
            {"memory_total_bytes", d.mem_total},
            {"memory_free_bytes", d.mem_free},
            {"bandwidth_bytes_per_s", d.bandwidth},
            {"reserved_bandwidth_bytes_per_s", d.reserved_bandwidth},
            {"jobs_done", d.jobs_done},
            {"jobs_failed", d.jobs_failed},
            {"busy_ns", d.busy_ns}};
}

Json to_json(const ai_dump_sensors& s)
{
    return {{"temperature_mc", s.temp_mc},   {"throttle_mc", s.temp_throttle_mc},
            {"power_mw", s.power_mw},        {"power_limit_mw", s.power_limit_mw},
            {"clock_mhz", s.clock_mhz},      {"clock_max_mhz", s.clock_max_mhz},
            {"throttled", s.throttled != 0}, {"throttles", s.throttles}};
}

Json to_json_register(const ai_dump_value& v)
{
    return {{"name", dump_text(v.name)}, {"offset", hex(v.offset)}, {"value", hex(v.value)}};
}

Json to_json_number(const ai_dump_value& v)
{
    return {{"name", dump_text(v.name)}, {"value", v.value}};
}

Json to_json(const ai_dump_job& j)
{
    constexpr std::array kFlags{"claimed", "excess", "rerun", "probe", "trial"};

    return {{"job", j.job},
            {"state", name_of(kJobStates, j.state)},
            {"file", j.file},
            {"contract", j.contract},
            {"model", j.model},
            {"cookie", hex(j.cookie)},
            {"submitted_ns", j.submitted_ns},
            {"started_ns", j.started_ns},
            {"due_ns", j.due_ns},
            {"deadline_ns", j.deadline_ns},
            {"priority", j.priority},
            {"flags", flags_of(j.flags, kFlags)},
            {"abort_error", j.abort_error},
            {"moved", term_of(j.moved)},
            {"inputs", j.inputs},
            {"outputs", j.outputs},
            {"model_version", j.model_version},
            {"model_name", dump_text(j.model_name)}};
}

Json memory_of(const ai_dump_contract& c)
{
    Json memory = Json::array();

    for (std::size_t i = 0; i < std::min<std::size_t>(c.info.nr_memory, AI_MAX_CONTRACT_MEMORY);
         i++) {
        const ai_memory_term& term = c.memory[i];
        Json one = {{"device", ai::device_name(static_cast<ai::DeviceId>(term.device))},
                    {"bytes", term.bytes}};
        if (c.memory_known) {
            one["used_bytes"] = term.used;
            one["la"] = hex(term.la);
            one["pages"] = term.pages;
        }
        memory.push_back(std::move(one));
    }
    return memory;
}

Json to_json(const ai_dump_contract& c)
{
    const ai_contract_info& i = c.info;

    return {{"contract", i.id},
            {"name", dump_text(i.name)},
            {"uid", c.uid},
            {"state", ai::to_string(static_cast<ai::ContractState>(i.state))},
            {"fuse", ai::to_string(static_cast<ai::Fuse>(i.fuse))},
            {"moved", term_of(i.moved)},
            {"jobs", i.jobs},
            {"failed", i.failed},
            {"met", i.met},
            {"violated", i.violated},
            {"degraded", i.degraded},
            {"throttled", i.throttled},
            {"excess", i.excess},
            {"overruns", i.overruns},
            {"refused", i.refused},
            {"latency_p50_ns", i.latency_p50_ns},
            {"latency_p99_ns", i.latency_p99_ns},
            {"latency_max_ns", i.latency_max_ns},
            {"energy_uj", i.energy_uj},
            {"queue_ns", i.queue_ns},
            {"run_ns", i.run_ns},
            {"latency_ns", i.terms.latency_ns},
            {"period_ns", i.terms.period_ns},
            {"service_ns", i.terms.service_ns},
            {"term_energy_uj", i.terms.energy_uj},
            {"power_mw", i.terms.power_mw},
            {"share_millionths", i.terms.share},
            {"bandwidth_bytes_per_s", i.terms.bandwidth},
            {"memory", memory_of(c)}};
}

Json to_json(const ai_dump_event& e)
{
    return {{"contract", e.contract},
            {"sequence", e.event.sequence},
            {"time_ns", e.event.time_ns},
            {"event", ai::to_string(static_cast<ai::EventKind>(e.event.kind))},
            {"job", e.event.job},
            {"term", term_of(e.event.term)},
            {"found", e.event.found},
            {"limit", e.event.limit},
            {"other", device_of(e.event.other)},
            {"jobs", e.event.jobs}};
}

Json to_json(const ai_dump_decision& d)
{
    return {{"sequence", d.sequence},
            {"time_ns", d.time_ns},
            {"contract", d.contract},
            {"job", d.job},
            {"term", term_of(d.term)},
            {"found", d.found},
            {"limit", d.limit},
            {"other", device_of(d.other)},
            {"decision", name_of(kDecisions, d.kind)}};
}

Json to_json(const ai_dump_tensor& t)
{
    return {{"job", t.job},
            {"index", t.index},
            {"output", (t.flags & AI_DUMP_TENSOR_OUTPUT) != 0},
            {"la", hex(t.la)},
            {"offset", t.offset},
            {"bytes", t.bytes},
            {"va", hex(t.va)},
            {"region_la", hex(t.region_la)},
            {"region_pages", t.region_pages},
            {"home", ai::device_name(static_cast<ai::DeviceId>(t.home))},
            {"permissions", permissions(t.perm & AI_PERM_READ, t.perm & AI_PERM_WRITE)},
            {"pieces", t.pieces}};
}

Json to_json(const ai_dump_pte& p)
{
    return {{"job", p.job},
            {"tensor", p.tensor},
            {"level", p.level},
            {"va", hex(p.va)},
            {"la", hex(p.la)},
            {"bytes", p.bytes},
            {"entry", hex(p.entry)},
            {"valid", (p.flags & AI_DUMP_PTE_VALID) != 0},
            {"permissions", permissions(p.flags & AI_DUMP_PTE_READ, p.flags & AI_DUMP_PTE_WRITE)},
            {"memory", p.flags & AI_DUMP_PTE_DEVICE ? "device" : "system"}};
}

template <typename T> Json array_of(const DumpSection& section, Json (*convert)(const T&))
{
    Json array = Json::array();

    for (std::uint64_t i = 0; i < section.count; i++)
        array.push_back(convert(section.element<T>(i)));
    return array;
}

template <typename T> Json one_of(const DumpSection& section)
{
    return section.count ? to_json(section.element<T>(0)) : Json();
}

Json section_json(const DumpSection& section)
{
    switch (section.type) {
    case AI_DUMP_DEVICE:
        return one_of<ai_dump_device>(section);
    case AI_DUMP_SENSORS:
        return one_of<ai_dump_sensors>(section);
    case AI_DUMP_REGISTERS:
        return array_of<ai_dump_value>(section, to_json_register);
    case AI_DUMP_DRIVER:
        return array_of<ai_dump_value>(section, to_json_number);
    case AI_DUMP_QUEUE:
        return array_of<ai_dump_job>(section, to_json);
    case AI_DUMP_CONTRACTS:
        return array_of<ai_dump_contract>(section, to_json);
    case AI_DUMP_EVENTS:
        return array_of<ai_dump_event>(section, to_json);
    case AI_DUMP_DECISIONS:
        return array_of<ai_dump_decision>(section, to_json);
    case AI_DUMP_TENSORS:
        return array_of<ai_dump_tensor>(section, to_json);
    case AI_DUMP_PTES:
        return array_of<ai_dump_pte>(section, to_json);
    default:
        return std::string(section.text());
    }
}

/* The sections whose bits are set. */
Json section_names(std::uint64_t bits)
{
    Json names = Json::array();

    for (std::uint64_t type = 1; type <= kSections.size(); type++)
        if (bits & (std::uint64_t{1} << type))
            names.push_back(kSections[type - 1]);
    return names;
}

} // namespace

Json dump_json(const Dump& dump)
{
    const ai_dump_header& h = dump.header();
    Json omitted = Json::object();
    Json unreadable = Json::array();
    Json json = {{"dump_of", dump_text(h.name)},
                 {"reason", dump_text(h.reason)},
                 {"time_ns", h.time_ns},
                 {"wall_ns", h.wall_ns},
                 {"job", h.job},
                 {"full", (h.flags & AI_DUMP_F_FULL) != 0},
                 {"gone", (h.flags & AI_DUMP_F_GONE) != 0},
                 {"format", h.format},
                 {"abi", std::to_string(h.abi_major) + "." + std::to_string(h.abi_minor)},
                 {"kernel", dump_text(h.kernel)},
                 {"module_version", dump_text(h.module_version)},
                 {"module_source", dump_text(h.module_source)},
                 {"withheld", section_names(h.withheld)},
                 {"absent", section_names(h.absent)}};

    for (std::uint32_t type = 1; type <= kSections.size(); type++) {
        const DumpSection* section = dump.section(static_cast<ai_dump_type>(type));
        if (!section)
            continue;
        const char* name = kSections[type - 1];
        if (section->omitted)
            omitted[name] = section->omitted;
        if (section->flags & AI_DUMP_S_UNREADABLE)
            unreadable.push_back(name);
        json[name] = section_json(*section);
    }
    json["omitted"] = std::move(omitted);
    json["unreadable"] = std::move(unreadable);
    return json;
}

} // namespace aictl
