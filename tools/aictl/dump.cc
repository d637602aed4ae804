/* SPDX-License-Identifier: Apache-2.0 */
#include <cerrno>
#include <fstream>
#include <system_error>

#include <ai/dump.h>

#include "commands.h"
#include "dump_show.h"

namespace aictl {

namespace {

/* More is no dump: the kernel makes none that is larger. */
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

ai::Error file_error(const std::string& path, const char* what)
{
    int error = errno ? errno : EIO;

    /* EINVAL would be the fault of the command line. */
    return {error == EINVAL ? EIO : error,
            path + " cannot be " + what + ": " + std::generic_category().message(error)};
}

ai::Result<std::vector<std::byte>> read_file(const std::string& path)
{
    std::vector<std::byte> bytes;
    char piece[4096];

    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return file_error(path, "opened");
    /* A file of devcoredump does not say how long it is. */
    while (file.read(piece, sizeof(piece)), file.gcount() > 0) {
        auto data = std::as_bytes(std::span(piece).first(static_cast<std::size_t>(file.gcount())));
        bytes.insert(bytes.end(), data.begin(), data.end());
        if (bytes.size() > kMostBytes)
            return ai::Error{EFBIG, path + " is larger than any dump"};
    }
    if (file.bad())
        return file_error(path, "read");
    return bytes;
}

ai::Result<void> write_file(const std::string& path, std::span<const std::byte> bytes)
{
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);

    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file)
        return file_error(path, "written");
    return {};
}

ai::Result<void> show(std::span<const std::byte> bytes, const Options& options, std::ostream& out)
{
    return Dump::parse(bytes).and_then([&](const Dump& dump) -> ai::Result<void> {
        Json json = dump_json(dump);
        if (options.json)
            print_json(out, json);
        else
            show_dump(out, json);
        return {};
    });
}

/* The one that is named, or the only one. */
ai::Result<ai::Device> chosen(const Context& context)
{
    if (!context.options.arguments.empty())
        return context.session.device(context.options.arguments.front());
    ai::Result<std::vector<ai::Device>> devices = context.session.devices();
    if (!devices)
        return std::move(devices).error();
    if (devices->size() == 1)
        return devices->front();
    std::string names;
    for (const ai::Device& device : *devices)
        names += " " + device.name;
    return ai::Error{devices->empty() ? ENOENT : EINVAL,
                     devices->empty() ? "there is no device" : "which device? There are" + names};
}

} // namespace

ai::Result<void> run_dump(const Context& context)
{
    const Options& options = context.options;
    ai::Result<ai::Device> device = chosen(context);
    if (!device)
        return std::move(device).error();
    ai::Result<std::vector<std::byte>> bytes = ai::dump(context.session, device->id, options.job);
    if (!bytes)
        return std::move(bytes).error();
    if (options.output.empty())
        return show(*bytes, options, context.out);
    return write_file(options.output, *bytes);
}

bool is_dump_file(const Options& options)
{
    return options.command == "dump" && options.arguments.size() == 2 &&
           options.arguments.front() == "show";
}

ai::Result<void> show_dump_file(const Options& options, std::ostream& out)
{
    ai::Result<std::vector<std::byte>> bytes = read_file(options.arguments.back());
    if (!bytes)
        return std::move(bytes).error();
    return show(*bytes, options, out);
}

} // namespace aictl
