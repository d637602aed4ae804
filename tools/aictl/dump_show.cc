/* SPDX-License-Identifier: Apache-2.0 */
#include "dump_show.h"

#include <string>

#include "table.h"

namespace aictl {

namespace {

std::string text_of(const Json& value)
{
    if (value.is_string())
        return value.get<std::string>();
    if (value.is_null())
        return "";
    if (value.is_array() && value.empty())
        return "";
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_table(const Json& value)
{
    return value.is_array() && !value.empty() && value.front().is_object();
}

void show_members(std::ostream& out, const Json& object)
{
    for (const auto& [name, value] : object.items())
        out << name << std::string(name.size() < 32 ? 32 - name.size() : 1, ' ')
            << printable(text_of(value)) << '\n';
}

void show_table(std::ostream& out, const Json& rows)
{
    std::vector<std::string> names;

    for (const auto& [name, value] : rows.front().items())
        names.push_back(name);
    Table table(names);
    for (const Json& row : rows) {
        std::vector<std::string> cells;
        cells.reserve(names.size());
        for (const std::string& name : names)
            cells.push_back(text_of(row.at(name)));
        table.add(std::move(cells));
    }
    table.print(out, true);
}

/* Lines of the firmware. */
void show_lines(std::ostream& out, std::string_view text)
{
    while (!text.empty()) {
        std::size_t end = std::min(text.find('\n'), text.size());
        out << printable(std::string(text.substr(0, end))) << '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

/* What stands under a heading of its own. */
bool is_section(const std::string& name, const Json& value)
{
    return name == "firmware_log" || is_table(value) || (value.is_object() && !value.empty());
}

} // namespace

void show_dump(std::ostream& out, const Json& dump)
{
    Json head = Json::object();

    for (const auto& [name, value] : dump.items())
        if (!is_section(name, value))
            head[name] = value;
    show_members(out, head);
    for (const auto& [name, value] : dump.items()) {
        if (!is_section(name, value))
            continue;
        out << "\n== " << name << '\n';
        if (value.is_string())
            show_lines(out, value.get<std::string>());
        else if (value.is_object())
            show_members(out, value);
        else
            show_table(out, value);
    }
}

} // namespace aictl
