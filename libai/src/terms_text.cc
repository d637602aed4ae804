/* SPDX-License-Identifier: Apache-2.0 */
/* Terms of contracts from text and to text. */
#include <ai/terms.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <span>

#include <ai/uapi/ai.h>

#include "text.h"

namespace ai {

namespace {

/* So many times the base unit of its kind. */
struct Unit {
    std::string_view name;
    std::uint64_t size;
};

/* What a value can be measured in, the base unit first. */
struct Kind {
    const char* what;
    const char* example;
    std::span<const Unit> units;
};

constexpr std::array kTimeUnits{
    Unit{"ns", 1},         Unit{"us", 1000},         Unit{"ms", 1000000},
    Unit{"s", 1000000000}, Unit{"min", 60000000000}, Unit{"h", 3600000000000}};
constexpr std::array kEnergyUnits{Unit{"uJ", 1}, Unit{"mJ", 1000}, Unit{"J", 1000000},
                                  Unit{"kJ", 1000000000}};
constexpr std::array kPowerUnits{Unit{"mW", 1}, Unit{"W", 1000}, Unit{"kW", 1000000}};
constexpr std::array kRateUnits{Unit{"mHz", 1}, Unit{"Hz", 1000}, Unit{"kHz", 1000000}};
constexpr std::array kShareUnits{Unit{"ppm", 1}, Unit{"%", 10000}};
constexpr std::array kByteUnits{
    Unit{"B", 1},           Unit{"kB", 1000},        Unit{"MB", 1000000},
    Unit{"GB", 1000000000}, Unit{"KiB", 1ULL << 10}, Unit{"MiB", 1ULL << 20},
    Unit{"GiB", 1ULL << 30}};
constexpr std::array kBandwidthUnits{
    Unit{"B/s", 1},           Unit{"kB/s", 1000},        Unit{"MB/s", 1000000},
    Unit{"GB/s", 1000000000}, Unit{"KiB/s", 1ULL << 10}, Unit{"MiB/s", 1ULL << 20},
    Unit{"GiB/s", 1ULL << 30}};
constexpr std::array<Unit, 1> kCountUnits{Unit{"", 1}};

constexpr Kind kTime{"a time", "50ms", kTimeUnits};
constexpr Kind kEnergy{"an energy", "15J", kEnergyUnits};
constexpr Kind kPower{"a power", "25W", kPowerUnits};
constexpr Kind kRate{"a rate", "30Hz", kRateUnits};
constexpr Kind kShare{"a share", "20%", kShareUnits};
constexpr Kind kMemory{"an amount of memory", "64MiB", kByteUnits};
constexpr Kind kBandwidth{"a bandwidth", "1GB/s", kBandwidthUnits};
constexpr Kind kCount{"a number", "2", kCountUnits};

constexpr std::array<const Kind*, 7> kMeasured{&kTime,  &kEnergy, &kPower,    &kRate,
                                               &kShare, &kMemory, &kBandwidth};

constexpr std::array<std::string_view, 8> kPrecisions{"none", "int4", "int8", "fp8",
                                                      "bf16", "fp16", "fp32", "fp64"};
constexpr std::array<std::string_view, 3> kFallbacks{"forbid", "warn", "allow"};
constexpr std::array<std::string_view, 2> kFaults{"non-critical", "critical"};
constexpr std::array<std::string_view, 2> kAnswers{"no", "yes"};
constexpr std::array<std::string_view, 4> kClasses{"cpu", "gpu", "npu", "fpga"};

std::optional<DeviceId> device_id(std::string_view name)
{
    if (name == "system")
        return kSystem;
    for (std::size_t i = 0; i < kClasses.size(); i++) {
        if (!name.starts_with(kClasses[i]))
            continue;
        std::string_view number = name.substr(kClasses[i].size());
        unsigned value = 0;
        auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
        if (error != std::errc() || end != number.data() + number.size() || value > 63)
            return std::nullopt;
        return DeviceId(static_cast<std::uint32_t>(i << 6 | value));
    }
    return std::nullopt;
}

/* How many letters it takes to make one word of the other. */
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);

    for (std::size_t j = 0; j <= b.size(); j++)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); i++) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); j++) {
            std::size_t changed = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row[b.size()];
}

/* How far a word is from one that is known; the beginning of one is near. */
std::size_t strangeness(std::string_view word, std::string_view known)
{
    return word.size() >= 3 && known.starts_with(word) ? 1 : distance(word, known);
}

std::string listed(std::span<const std::string_view> words)
{
    std::string text;

    for (std::size_t i = 0; i < words.size(); i++)
        text.append(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ").append(words[i]);
    return text;
}

/* How wide UTF-8 is, as far as that can be told by counting characters. */
std::size_t columns(std::string_view text)
{
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/* One word of the text and what it says. */
struct Word {
    std::string_view all;
    std::string_view key;      /* latency_p99 */
    std::string_view argument; /* npu0 of memory(npu0) */
    std::string_view sign;     /* <=, >= or = */
    std::string_view value;    /* 50ms */
};

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Terms> parse();

private:
    using Setter = Result<void> (Parser::*)(const Word&);
    struct Key {
        std::string_view name;
        std::string_view sign;
        Setter set;
    };
    static const std::span<const Key> kKeys;

    std::size_t end_of_word(std::size_t begin) const;
    Result<Word> split(std::string_view all) const;
    Result<void> apply(const Word& word);
    Error wrong(std::string_view part, const std::string& why) const;
    Result<std::uint64_t> quantity(const Word& word, const Kind& kind,
                                   std::uint64_t most = UINT64_MAX) const;
    Result<std::uint64_t> measured(std::string_view value, std::string_view digits,
                                   std::uint64_t unit, std::uint64_t most) const;
    Result<std::size_t> choice(const Word& word, std::span<const std::string_view> words) const;
    Result<void> time(const Word& word, Nanoseconds& to) const;
    template <typename T> Result<void> amount(const Word& word, const Kind& kind, T& to) const;
    Result<std::string> unquoted(const Word& word) const;

    Result<void> set_name(const Word& word);
    Result<void> set_device(const Word& word);
    Result<void> set_latency(const Word& word) { return time(word, terms_.latency); }
    Result<void> set_rate(const Word& word);
    Result<void> set_period(const Word& word) { return time(word, terms_.period); }
    Result<void> set_burst(const Word& word);
    Result<void> set_service(const Word& word) { return time(word, terms_.service); }
    Result<void> set_energy(const Word& word) { return amount(word, kEnergy, terms_.energy); }
    Result<void> set_power(const Word& word);
    Result<void> set_bandwidth(const Word& word)
    {
        return amount(word, kBandwidth, terms_.bandwidth);
    }
    Result<void> set_share(const Word& word);
    Result<void> set_precision(const Word& word);
    Result<void> set_fault(const Word& word);
    Result<void> set_degrade(const Word& word);
    Result<void> set_fallback(const Word& word);
    Result<void> set_lapse(const Word& word) { return time(word, terms_.lapse); }
    Result<void> set_fuse(const Word& word) { return time(word, terms_.fuse); }
    Result<void> set_memory(const Word& word);

    std::string_view text_;
    Terms terms_;
    std::set<std::string, std::less<>> seen_;
};

constexpr std::string_view kAtMost = "<=";
constexpr std::string_view kAtLeast = ">=";
constexpr std::string_view kEquals = "=";
constexpr std::string_view kBlank = " \t\n\r,";

const std::span<const Parser::Key> Parser::kKeys = [] {
    static constexpr std::array keys{
        Key{"name", kEquals, &Parser::set_name},
        Key{"device", kEquals, &Parser::set_device},
        Key{"latency_p99", kAtMost, &Parser::set_latency},
        Key{"rate", kAtLeast, &Parser::set_rate},
        Key{"period", kEquals, &Parser::set_period},
        Key{"burst", kEquals, &Parser::set_burst},
        Key{"service", kAtMost, &Parser::set_service},
        Key{"energy", kAtMost, &Parser::set_energy},
        Key{"power", kAtMost, &Parser::set_power},
        Key{"bandwidth", kAtLeast, &Parser::set_bandwidth},
        Key{"share", kAtLeast, &Parser::set_share},
        Key{"precision", kAtLeast, &Parser::set_precision},
        Key{"fault", kEquals, &Parser::set_fault},
        Key{"degrade", kEquals, &Parser::set_degrade},
        Key{"fallback", kEquals, &Parser::set_fallback},
        Key{"lapse", kEquals, &Parser::set_lapse},
        Key{"fuse", kEquals, &Parser::set_fuse},
        Key{"memory", kAtLeast, &Parser::set_memory},
    };
    return std::span<const Key>(keys);
}();

/* The sentence, the text on one line, and a line that points at @part of it. */
Error Parser::wrong(std::string_view part, const std::string& why) const
{
    std::string line(text_);
    std::size_t offset =
        columns(text_.substr(0, static_cast<std::size_t>(part.data() - text_.data())));

    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = ' ';
    return Error{EINVAL, why + "\n" + line + "\n" + std::string(offset, ' ') +
                             std::string(std::max<std::size_t>(columns(part), 1), '^')};
}

/* Blanks inside a quoted value do not end it. */
std::size_t Parser::end_of_word(std::size_t begin) const
{
    std::size_t end = std::min(text_.find_first_of(kBlank, begin), text_.size());
    std::size_t value = text_.substr(0, end).find('=', begin);

    if (value == std::string_view::npos || !text_.substr(value + 1).starts_with('"'))
        return end;
    for (std::size_t i = value + 2; i < text_.size(); i++)
        if (text_[i] == '\\')
            i++;
        else if (text_[i] == '"')
            return std::min(text_.find_first_of(kBlank, i), text_.size());
    return text_.size();
}

Result<Word> Parser::split(std::string_view all) const
{
    std::size_t sign = all.find_first_of("<>=");

    if (sign == std::string_view::npos)
        return wrong(all, detail::quoted(all) +
                              " has no <=, >= or =; a term is written like latency_p99<=50ms");
    Word word{.all = all,
              .key = all.substr(0, sign),
              .argument = {},
              .sign = all.substr(sign, all.substr(sign + 1).starts_with('=') ? 2 : 1),
              .value = {}};
    word.value = all.substr(sign + word.sign.size());
    std::size_t open = word.key.find('(');
    if (open != std::string_view::npos && word.key.ends_with(')')) {
        word.argument = word.key.substr(open + 1, word.key.size() - open - 2);
        word.key = word.key.substr(0, open);
    }
    return word;
}

Result<void> Parser::apply(const Word& word)
{
    const Key* nearest = nullptr;

    for (const Key& key : kKeys) {
        if (!nearest || strangeness(word.key, key.name) < strangeness(word.key, nearest->name))
            nearest = &key;
        if (word.key != key.name)
            continue;
        if (word.sign != key.sign)
            return wrong(word.sign, std::string(key.name) + " takes " + std::string(key.sign) +
                                        ", found " + std::string(word.sign));
        if (word.argument.data() && key.name != "memory")
            return wrong(word.argument, std::string(key.name) + " takes nothing in parentheses");
        std::string once = std::string(word.key) + "(" + std::string(word.argument) + ")";
        if (!seen_.insert(once).second)
            return wrong(word.all, std::string(key.name) + " is given twice");
        return (this->*key.set)(word);
    }
    std::string why = "there is no term " + detail::quoted(word.key);
    if (strangeness(word.key, nearest->name) <= 3)
        why += "; is " + std::string(nearest->name) + " meant?";
    return wrong(word.key.empty() ? word.all : word.key, why);
}

Result<Terms> Parser::parse()
{
    std::size_t at = 0;

    while ((at = text_.find_first_not_of(kBlank, at)) != std::string_view::npos) {
        std::size_t end = end_of_word(at);
        Result<Word> word = split(text_.substr(at, end - at));
        if (!word)
            return std::move(word).error();
        if (Result<void> applied = apply(*word); !applied)
            return std::move(applied).error();
        at = end;
    }
    if (seen_.contains("rate()") && seen_.contains("period()"))
        return wrong(text_, "rate and period are both given, they say the same");
    return terms_;
}

/* @digits, which may have a point, times @unit; exactly. */
Result<std::uint64_t> Parser::measured(std::string_view value, std::string_view digits,
                                       std::uint64_t unit, std::uint64_t most) const
{
    std::string too_large =
        "is too large, the most is " + std::to_string(most) + " of the smallest unit";
    std::uint64_t whole = 0;
    std::size_t point = std::min(digits.find('.'), digits.size());
    std::string_view fraction = digits.substr(std::min(point + 1, digits.size()));

    for (char c : digits.substr(0, point)) {
        auto digit = static_cast<std::uint64_t>(c - '0');
        if (whole > (most - digit) / 10)
            return wrong(value, detail::quoted(value) + " " + too_large);
        whole = whole * 10 + digit;
    }
    if (unit && whole > most / unit)
        return wrong(value, detail::quoted(value) + " " + too_large);
    whole *= unit;
    while (fraction.ends_with('0'))
        fraction.remove_suffix(1);
    for (char c : fraction) {
        if (unit % 10 != 0)
            return wrong(value,
                         detail::quoted(value) + " is not a whole number of the smallest unit");
        unit /= 10;
        std::uint64_t part = static_cast<std::uint64_t>(c - '0') * unit;
        if (part > most - whole)
            return wrong(value, detail::quoted(value) + " " + too_large);
        whole += part;
    }
    return whole;
}

Result<std::uint64_t> Parser::quantity(const Word& word, const Kind& kind, std::uint64_t most) const
{
    std::string_view value = word.value;
    std::size_t end = std::min(value.find_first_not_of("0123456789."), value.size());
    std::string_view digits = value.substr(0, end);
    std::string_view unit = value.substr(end);
    std::string takes = std::string(word.key) + " takes " + kind.what + " such as " + kind.example;

    if (value.starts_with('-'))
        return wrong(value, takes + ", found " + detail::quoted(value) + ", which is negative");
    if (digits.empty() || digits.front() == '.' || digits.back() == '.' ||
        std::ranges::count(digits, '.') > 1)
        return wrong(value.empty() ? word.all : value,
                     takes + ", found " + detail::quoted(value) + ", which is no number");
    for (const Unit& known : kind.units)
        if (known.name == unit) {
            Result<std::uint64_t> count = measured(value, digits, known.size, most);
            if (count && *count == 0)
                return wrong(value, takes + ", found 0; leave the term out instead");
            return count;
        }
    if (unit.empty())
        return wrong(value, takes + ", found " + detail::quoted(value) + " without a unit");
    for (const Kind* other : kMeasured)
        for (const Unit& known : other->units)
            if (known.name == unit)
                return wrong(value,
                             takes + ", found " + other->what + ", " + detail::quoted(value));
    std::vector<std::string_view> names;
    for (const Unit& known : kind.units)
        names.push_back(known.name);
    return wrong(unit, takes + ", found the unit " + detail::quoted(unit) + "; there are " +
                           listed(names));
}

Result<std::size_t> Parser::choice(const Word& word, std::span<const std::string_view> words) const
{
    auto found = std::ranges::find(words, word.value);

    if (found == words.end())
        return wrong(word.value.empty() ? word.all : word.value, std::string(word.key) + " is " +
                                                                     listed(words) + ", found " +
                                                                     detail::quoted(word.value));
    return static_cast<std::size_t>(found - words.begin());
}

Result<void> Parser::time(const Word& word, Nanoseconds& to) const
{
    return quantity(word, kTime, INT64_MAX).and_then([&](std::uint64_t ns) {
        to = Nanoseconds(ns);
        return Result<void>();
    });
}

template <typename T> Result<void> Parser::amount(const Word& word, const Kind& kind, T& to) const
{
    return quantity(word, kind).and_then([&](std::uint64_t count) {
        to = T(count);
        return Result<void>();
    });
}

/* What a value in quotes stands for. */
Result<std::string> Parser::unquoted(const Word& word) const
{
    std::string_view value = word.value;
    std::string text;

    for (std::size_t i = 1; i < value.size(); i++) {
        if (value[i] == '"' && i + 1 < value.size())
            return wrong(value.substr(i + 1), "this follows the end of the quotes");
        if (value[i] == '"')
            return text;
        if (value[i] == '\\' && i + 1 < value.size())
            i++;
        text += value[i];
    }
    return wrong(value, "the quotes are not closed");
}

Result<void> Parser::set_name(const Word& word)
{
    Result<std::string> name =
        word.value.starts_with('"') ? unquoted(word) : Result(std::string(word.value));

    if (!name)
        return std::move(name).error();
    if (name->empty())
        return wrong(word.all, "name is empty");
    if (name->size() >= AI_NAME_LEN)
        return wrong(word.value, "name has " + std::to_string(name->size()) +
                                     " characters, the most is " + std::to_string(AI_NAME_LEN - 1));
    if (!std::ranges::all_of(*name, [](char c) { return c >= ' ' && c <= '~'; }))
        return wrong(word.value, "name takes printable ASCII");
    terms_.name = std::move(*name);
    return {};
}

Result<void> Parser::set_device(const Word& word)
{
    std::optional<DeviceId> id = device_id(word.value);

    if (!id || *id == kSystem)
        return wrong(word.value.empty() ? word.all : word.value,
                     "device takes a name such as npu0 or gpu1, found " +
                         detail::quoted(word.value));
    terms_.device = *id;
    return {};
}

Result<void> Parser::set_rate(const Word& word)
{
    /* One whose period is at least 1 ns. */
    return quantity(word, kRate, 1000000000000).and_then([&](std::uint64_t mhz) {
        terms_.period = period_of(Rate(mhz));
        return Result<void>();
    });
}

Result<void> Parser::set_burst(const Word& word)
{
    return quantity(word, kCount, std::numeric_limits<std::uint32_t>::max())
        .and_then([&](std::uint64_t count) {
            terms_.burst = static_cast<std::uint32_t>(count);
            return Result<void>();
        });
}

Result<void> Parser::set_power(const Word& word)
{
    return quantity(word, kPower, std::numeric_limits<std::uint32_t>::max())
        .and_then([&](std::uint64_t mw) {
            terms_.power = Power(mw);
            return Result<void>();
        });
}

Result<void> Parser::set_share(const Word& word)
{
    return quantity(word, kShare, 1000000).and_then([&](std::uint64_t ppm) {
        terms_.share = Share(ppm);
        return Result<void>();
    });
}

Result<void> Parser::set_precision(const Word& word)
{
    return choice(word, kPrecisions).and_then([&](std::size_t i) {
        terms_.precision = static_cast<Precision>(i);
        return Result<void>();
    });
}

Result<void> Parser::set_fault(const Word& word)
{
    return choice(word, kFaults).and_then([&](std::size_t i) {
        terms_.critical = i == 1;
        return Result<void>();
    });
}

Result<void> Parser::set_degrade(const Word& word)
{
    return choice(word, kAnswers).and_then([&](std::size_t i) {
        terms_.may_degrade = i == 1;
        return Result<void>();
    });
}

Result<void> Parser::set_fallback(const Word& word)
{
    return choice(word, kFallbacks).and_then([&](std::size_t i) {
        terms_.fallback = static_cast<Fallback>(i);
        return Result<void>();
    });
}

Result<void> Parser::set_memory(const Word& word)
{
    std::string_view where = word.argument.data() ? word.argument : "system";
    std::optional<DeviceId> home = device_id(where);

    if (!home)
        return wrong(word.argument.empty() ? word.all : word.argument,
                     "memory takes a device, as in memory(npu0) or memory(system), found " +
                         detail::quoted(where));
    for (const MemoryTerm& other : terms_.memory)
        if (other.home == *home)
            return wrong(word.all, "memory of " + device_name(*home) + " is given twice");
    return quantity(word, kMemory).and_then([&](std::uint64_t bytes) {
        terms_.memory.push_back({.home = *home, .size = Bytes(bytes)});
        return Result<void>();
    });
}

/* ---- to text ---- */

/* In the largest unit of which it is a whole number. */
std::string exact(std::uint64_t count, const Kind& kind)
{
    const Unit* best = kind.units.data();

    for (const Unit& unit : kind.units)
        if (count % unit.size == 0 && unit.size > best->size)
            best = &unit;
    return std::to_string(count / best->size).append(best->name);
}

/* In quotes if it would not be one word without. */
std::string name_word(const std::string& name)
{
    std::string text = "\"";

    if (!name.starts_with('=') && name.find_first_of("\"\\") == std::string::npos &&
        name.find_first_of(kBlank) == std::string::npos)
        return name;
    for (char c : name) {
        if (c == '"' || c == '\\')
            text += '\\';
        text += c;
    }
    return text + "\"";
}

void add(std::string& text, std::string_view key, std::string_view sign, const std::string& value)
{
    text.append(text.empty() ? "" : " ").append(key).append(sign).append(value);
}

void add_time(std::string& text, std::string_view key, std::string_view sign, Nanoseconds time)
{
    if (time != Nanoseconds(0))
        add(text, key, sign, exact(static_cast<std::uint64_t>(time.count()), kTime));
}

void add_amount(std::string& text, std::string_view key, std::string_view sign, std::uint64_t count,
                const Kind& kind)
{
    if (count)
        add(text, key, sign, exact(count, kind));
}

} // namespace

Result<Terms> parse_terms(std::string_view text)
{
    return Parser(text).parse();
}

std::string device_name(DeviceId id)
{
    auto number = static_cast<std::uint32_t>(id);

    if (id == kSystem)
        return "system";
    return std::string(kClasses[number >> 6 & 3]) + std::to_string(number & 63);
}

const char* to_string(Precision precision)
{
    auto i = static_cast<std::size_t>(precision);

    return i < kPrecisions.size() ? kPrecisions[i].data() : "unknown";
}

const char* to_string(Fallback fallback)
{
    auto i = static_cast<std::size_t>(fallback);

    return i < kFallbacks.size() ? kFallbacks[i].data() : "unknown";
}

std::string to_string(const Terms& terms)
{
    std::string text;

    if (!terms.name.empty())
        add(text, "name", kEquals, name_word(terms.name));
    if (terms.device != kSystem)
        add(text, "device", kEquals, device_name(terms.device));
    add_time(text, "latency_p99", kAtMost, terms.latency);
    add_time(text, "period", kEquals, terms.period);
    add_amount(text, "burst", kEquals, terms.burst, kCount);
    add_time(text, "service", kAtMost, terms.service);
    add_amount(text, "energy", kAtMost, terms.energy.count(), kEnergy);
    add_amount(text, "power", kAtMost, terms.power.count(), kPower);
    add_amount(text, "bandwidth", kAtLeast, terms.bandwidth.count(), kBandwidth);
    add_amount(text, "share", kAtLeast, terms.share.count(), kShare);
    if (terms.precision != Precision::kNone)
        add(text, "precision", kAtLeast, to_string(terms.precision));
    if (terms.critical)
        add(text, "fault", kEquals, "critical");
    if (terms.may_degrade)
        add(text, "degrade", kEquals, "yes");
    if (terms.fallback != Fallback::kForbid)
        add(text, "fallback", kEquals, to_string(terms.fallback));
    add_time(text, "lapse", kEquals, terms.lapse);
    add_time(text, "fuse", kEquals, terms.fuse);
    for (const MemoryTerm& memory : terms.memory)
        add(text, "memory(" + device_name(memory.home) + ")", kAtLeast,
            exact(memory.size.count(), kMemory));
    return text;
}

} // namespace ai
