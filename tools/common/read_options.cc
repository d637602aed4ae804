/* SPDX-License-Identifier: Apache-2.0 */
#include "read_options.h"

#include <algorithm>
#include <cerrno>

namespace ai_tools {

namespace {

/*
 * What is wrong with a word of which getopt_long() made '?'. It leaves that open, but
 * for what it puts into optopt.
 */
ai::Error unknown_option(const std::string& tool, std::span<const option> options,
                         const std::string& word)
{
    std::string name = word.substr(0, word.find('='));
    auto known = std::ranges::find_if(options, [](const option& entry) {
        return entry.name && entry.val == optopt && entry.has_arg == no_argument;
    });
    std::string what;

    if (optopt != 0 && known != options.end() && name.size() < word.size())
        what = std::string("--") + known->name + " takes no value, it is given '" +
               word.substr(name.size() + 1) + "'";
    else if (optopt != 0)
        what = std::string("-") + static_cast<char>(optopt) + " is no option of " + tool;
    else if (std::ranges::count_if(options, [&](const option& entry) {
                 return entry.name && ("--" + std::string(entry.name)).starts_with(name);
             }) > 1)
        what = name + " is short for more than one option of " + tool;
    else
        what = name + " is no option of " + tool;
    return {EINVAL, what + ": see --help"};
}

} // namespace

ai::Result<std::vector<std::string>>
read_options(const std::string& tool, std::span<char* const> argv, const char* letters,
             std::span<const option> options,
             const std::function<ai::Result<void>(int code, const std::string& value)>& take)
{
    int code = 0;

    optind = 0; /* begin anew, also in tests that parse more than once */
    opterr = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread
    while ((code = getopt_long(static_cast<int>(argv.size()), argv.data(), letters, options.data(),
                               nullptr)) != -1) {
        const std::string word = argv[static_cast<std::size_t>(optind - 1)];
        if (code == ':')
            return ai::Error{EINVAL, word + " is given no value, it needs one"};
        if (code == '?')
            return unknown_option(tool, options, word);
        if (ai::Result<void> taken = take(code, optarg ? optarg : ""); !taken)
            return std::move(taken).error();
    }
    std::span<char* const> rest = argv.subspan(static_cast<std::size_t>(optind));
    return std::vector<std::string>(rest.begin(), rest.end());
}

} // namespace ai_tools
