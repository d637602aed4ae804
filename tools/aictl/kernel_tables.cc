/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that the kernel keeps in debugfs: the page table and the models. */
#include <cerrno>
#include <fstream>
#include <sstream>

#include "commands.h"
#include "kernel_tables.h"
#include "table.h"

namespace aictl {

namespace {

constexpr const char* kFolder = "/sys/kernel/debug/ai/";

ai::Error open_error(const std::string& path, int code)
{
    if (code == EACCES || code == EPERM)
        return {code, path + " is for root only: run aictl as root"};
    if (code == ENOENT)
        return {code, path + " does not exist: mount debugfs ('mount -t debugfs none "
                             "/sys/kernel/debug' as root) and load the module ai"};
    return {code, path + " cannot be read: error " + std::to_string(code)};
}

/* A number where it is one, in whatever base; else the text. */
Json value_of(const std::string& text)
{
    std::size_t end = 0;

    if (text.empty() || (text[0] < '0' || text[0] > '9'))
        return text;
    try {
        std::uint64_t number = std::stoull(text, &end, 0);
        /* Addresses stay text: not every reader of JSON has 64 bits. */
        if (end == text.size() && !text.starts_with("0x"))
            return number;
    } catch (const std::exception&) {
        return text;
    }
    return text;
}

ai::Result<void> show(const Context& context, const std::string& name)
{
    const std::string path = kFolder + name;
    errno = 0;
    std::ifstream in(path);
    if (!in)
        return open_error(path, errno ? errno : EIO);
    if (!context.options.json) {
        std::string line;
        for (bool first = true; std::getline(in, line); first = false)
            if (!first || context.options.header)
                context.out << printable(line) << '\n';
        return {};
    }
    print_json(context.out, table_json(in));
    return {};
}

} // namespace

Json table_json(std::istream& in)
{
    std::vector<std::string> names;
    Json json = Json::array();
    std::string line;

    while (std::getline(in, line)) {
        std::istringstream words(line);
        std::string word;
        if (names.empty()) {
            while (words >> word)
                names.push_back(word);
            continue;
        }
        Json row = Json::object();
        for (std::size_t i = 0; i < names.size(); i++) {
            /* The last column may have blanks. */
            if (i + 1 < names.size())
                words >> word;
            else
                std::getline(words >> std::ws, word);
            row[names[i]] = names[i] == "name" ? Json(word) : value_of(word);
        }
        json.push_back(std::move(row));
    }
    return json;
}

ai::Result<void> run_gpt(const Context& context)
{
    return show(context, "gpt");
}

ai::Result<void> run_models(const Context& context)
{
    return show(context, "models");
}

} // namespace aictl
