/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "elements.h"

namespace ai_run {

namespace {

double milliseconds(ai::Nanoseconds time)
{
    return std::chrono::duration<double, std::milli>(time).count();
}

std::string strings_text(const HostTensor& tensor)
{
    auto strings = ai::unpack_strings(tensor.data, tensor.shape.elements().value_or(0));
    std::string text;

    for (std::string_view string : strings.value_or(std::vector<std::string_view>()))
        text.append(text.empty() ? "\"" : " \"").append(string).append("\"");
    return text;
}

/* Least, most and mean of the elements, or the element if there is but one. */
std::string numbers_text(const HostTensor& tensor)
{
    std::size_t count = tensor.shape.elements().value_or(0) * values_per_element(tensor.dtype);
    char text[128] = "";

    if (count == 0)
        return "empty";
    Value least = value_at(tensor.dtype, tensor.data, 0);
    Value most = least;
    Value sum = 0;
    for (std::size_t i = 0; i < count; i++) {
        Value value = value_at(tensor.dtype, tensor.data, i);
        least = std::fmin(least, value);
        most = std::fmax(most, value);
        sum += value;
    }
    if (count == 1)
        std::snprintf(text, sizeof(text), "%Lg", least);
    else
        std::snprintf(text, sizeof(text), "min %Lg  max %Lg  mean %Lg", least, most,
                      sum / static_cast<Value>(count));
    return text;
}

} // namespace

void print_json(const Json& json)
{
    /* Names inside models need not be UTF-8. */
    std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

Json to_json(const ai::Record& record)
{
    return {{"job", record.job},
            {"device", record.device_name},
            {"firmware", record.firmware},
            {"generation", record.generation},
            {"queue_ns", record.queue.count()},
            {"run_ns", record.run.count()},
            {"cpu_copied_bytes", record.cpu_copied.count()},
            {"dma_moved_bytes", record.dma_moved.count()},
            {"in_place_bytes", record.in_place.count()},
            {"late", record.late},
            {"rerun", record.rerun},
            {"throttled", record.throttled}};
}

Json to_json(const CaseResult& result)
{
    Json json = {{"name", result.name}, {"result", to_string(result.verdict)}};

    if (!result.reason.empty())
        json["reason"] = result.reason;
    json["inferences"] = Json::array();
    for (const ai::Record& record : result.records)
        if (record.job)
            json["inferences"].push_back(to_json(record));
    return json;
}

Json to_json(const HostTensor& tensor)
{
    Json json = {{"name", tensor.name},
                 {"dtype", ai::dtype_name(tensor.dtype)},
                 {"shape", std::vector(tensor.shape.begin(), tensor.shape.end())}};

    if (tensor.dtype == ai::DType::kString)
        json["strings"] = ai::unpack_strings(tensor.data, tensor.shape.elements().value_or(0))
                              .value_or(std::vector<std::string_view>());
    return json;
}

void print_devices(const std::vector<ai::Device>& devices)
{
    if (devices.empty())
        std::puts("there are no devices");
    for (const ai::Device& device : devices) {
        std::printf("%-8s %-12s %s\n", device.name.c_str(), ai::to_string(device.health),
                    device.product.c_str());
        std::printf("         firmware %s, engine %s, at %s\n",
                    device.firmware.empty() ? "none" : device.firmware.c_str(),
                    device.engine.empty() ? "none" : device.engine.c_str(), device.bus.c_str());
        std::printf("         %.1f C, %.2f of %.2f W, %u of %u MHz, %" PRIu64 " jobs done, %" PRIu64
                    " failed, %u queued\n",
                    device.temperature_mc / 1e3, device.power_mw / 1e3, device.power_limit_mw / 1e3,
                    device.clock_mhz, device.clock_max_mhz, device.jobs_done, device.jobs_failed,
                    device.queued);
    }
}

void print_model(const ai::Model& model, const std::string& device, const Inputs& inputs)
{
    std::printf("model   %s version %u on %s, %s in %.3f ms\n", model.name().c_str(),
                model.version(), device.c_str(), model.cached() ? "from its cache" : "compiled",
                milliseconds(model.compile_time()));
    for (std::size_t i = 0; i < inputs.tensors.size(); i++)
        std::printf("input   %zu %s: %s %s, %s\n", i, model.inputs()[i].name.c_str(),
                    ai::dtype_name(inputs.tensors[i].dtype),
                    ai::to_string(inputs.tensors[i].shape).c_str(), inputs.sources[i].c_str());
}

void print_record(std::size_t number, const ai::Record& record)
{
    std::printf("run     %zu device %s, firmware %s, queue %.3f ms, run %.3f ms; bytes copied by "
                "the CPU %" PRIu64 ", moved by DMA %" PRIu64 ", in place %" PRIu64 "%s%s\n",
                number, record.device_name.c_str(),
                record.firmware.empty() ? "none" : record.firmware.c_str(),
                milliseconds(record.queue), milliseconds(record.run), record.cpu_copied.count(),
                record.dma_moved.count(), record.in_place.count(),
                record.throttled ? "; throttled" : "",
                record.rerun ? "; ran again after a reset" : "");
}

void print_summary(const std::vector<ai::Record>& records)
{
    std::vector<ai::Nanoseconds> times(records.size());

    std::ranges::transform(records, times.begin(), &ai::Record::run);
    std::ranges::sort(times);
    std::printf("summary %zu runs: least %.3f ms, median %.3f ms, most %.3f ms\n", times.size(),
                milliseconds(times.front()), milliseconds(times[times.size() / 2]),
                milliseconds(times.back()));
}

void print_output(std::size_t index, const HostTensor& tensor)
{
    std::string values =
        tensor.dtype == ai::DType::kString ? strings_text(tensor) : numbers_text(tensor);

    std::printf("output  %zu %s: %s %s  %s\n", index, tensor.name.c_str(),
                ai::dtype_name(tensor.dtype), ai::to_string(tensor.shape).c_str(), values.c_str());
}

void print_case(const CaseResult& result)
{
    if (result.reason.empty())
        std::printf("%s: %s\n", result.name.c_str(), to_string(result.verdict));
    else
        std::printf("%s: %s: %s\n", result.name.c_str(), to_string(result.verdict),
                    result.reason.c_str());
    std::fflush(stdout);
}

} // namespace ai_run
