/* SPDX-License-Identifier: Apache-2.0 */
/* ai-ocr: reads the text in pictures, through /dev/ai0. An example of libai. */
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <span>

#include <nlohmann/json.hpp>

#include <ai/version.h>

#include "ai0_runner.h"
#include "draw.h"
#include "host_runner.h"
#include "image.h"
#include "options.h"
#include "painter.h"
#include "pipeline.h"

namespace {

using namespace ai_ocr;
using Json = nlohmann::ordered_json;

enum Exit { kOk = 0, kFailed = 1, kUsage = 2, kNoDevice = 3 };

int fail(const ai::Error& error, int status)
{
    /* In a pipe the text before it would come after it. */
    std::fflush(stdout);
    std::fprintf(stderr, "ai-ocr: %s\n", error.message.c_str());
    return status;
}

double milliseconds(ai::Nanoseconds time)
{
    return std::chrono::duration<double, std::milli>(time).count();
}

/* @name is empty if there is but one picture. */
void print(const std::string& name, const Page& page)
{
    if (!name.empty())
        std::printf("%s:\n", name.c_str());
    for (const Line& line : page.lines)
        std::printf("%.3f  %s\n", static_cast<double>(line.text.confidence),
                    line.text.text.c_str());
    if (page.lines.empty())
        std::puts("no text was found");
    for (const Step& step : page.steps)
        std::printf("%-12s device %s, firmware %s, queue %.3f ms, run %.3f ms, bytes copied by the "
                    "CPU %zu\n",
                    step.model.c_str(), step.record.device_name.c_str(),
                    step.record.firmware.empty() ? "none" : step.record.firmware.c_str(),
                    milliseconds(step.record.queue), milliseconds(step.record.run),
                    static_cast<std::size_t>(step.record.cpu_copied.count()));
}

Json to_json(const std::string& picture, const Page& page)
{
    Json json = {{"picture", picture}, {"lines", Json::array()}, {"inferences", Json::array()}};

    for (const Line& line : page.lines) {
        Json box = Json::array();
        for (const cv::Point2f& corner : line.box)
            box.push_back({corner.x, corner.y});
        json["lines"].push_back({{"text", line.text.text},
                                 {"confidence", line.text.confidence},
                                 {"box", std::move(box)}});
    }
    for (const Step& step : page.steps)
        json["inferences"].push_back({{"model", step.model},
                                      {"device", step.record.device_name},
                                      {"firmware", step.record.firmware},
                                      {"queue_ns", step.record.queue.count()},
                                      {"run_ns", step.record.run.count()},
                                      {"cpu_copied_bytes", step.record.cpu_copied.count()},
                                      {"dma_moved_bytes", step.record.dma_moved.count()},
                                      {"in_place_bytes", step.record.in_place.count()}});
    return json;
}

ai::Result<void> write_drawing(const Options& options, const std::string& path,
                               const cv::Mat& picture, const Page& page)
{
    std::error_code failed;
    std::filesystem::path folder(options.out);
    std::filesystem::path name = std::filesystem::path(path).stem().string() + "-text.png";

    std::filesystem::create_directories(folder, failed);
    if (failed)
        return ai::Error{failed.value(), options.out + " cannot be made: " + failed.message()};
    ai::Result<Painter> painter = Painter::open(options.font);
    if (!painter)
        return std::move(painter).error();
    return write_png(folder / name, drawn(picture, page, *painter));
}

/* Nothing that concerns one picture keeps the others from being read. */
int read_pictures(const Options& options, Pipeline& pipeline)
{
    Json all = Json::array();
    int status = kOk;

    for (const std::string& path : options.pictures) {
        ai::Result<cv::Mat> picture = read_image(path);
        if (!picture) {
            status = fail(picture.error(), kFailed);
            continue;
        }
        ai::Result<Page> page = pipeline.read(*picture, options.least_confidence);
        if (!page) {
            status = fail(page.error(), kFailed);
            continue;
        }
        if (options.json)
            all.push_back(to_json(path, *page));
        else
            print(options.pictures.size() > 1 ? path : "", *page);
        if (options.out.empty())
            continue;
        if (auto written = write_drawing(options, path, *picture, *page); !written)
            status = fail(written.error(), kFailed);
    }
    if (options.json)
        std::cout << all.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return status;
}

int run(std::span<char* const> argv)
{
    ai::Result<Options> options = parse_options(argv);
    if (!options)
        return fail(options.error(), kUsage);
    if (options->help) {
        std::fputs(usage().c_str(), stdout);
        return kOk;
    }
    if (options->version) {
        std::puts("ai-ocr " AI_VERSION_STRING);
        return kOk;
    }

    ai::Result<std::unique_ptr<Runner>> runner =
        options->reference ? open_host_runner()
                           : Ai0Runner::open(options->device, options->timeout);
    if (!runner)
        return fail(runner.error(), kNoDevice);
    ai::Result<std::unique_ptr<Pipeline>> pipeline = Pipeline::load(**runner, options->models);
    if (!pipeline)
        return fail(pipeline.error(), pipeline.error().code == ENOENT ? kNoDevice : kFailed);
    return read_pictures(*options, **pipeline);
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return run({argv, static_cast<std::size_t>(argc)});
    } catch (const std::exception& error) {
        return fail({0, error.what()}, kFailed);
    }
}
