/* SPDX-License-Identifier: Apache-2.0 */
/* ai-run: any ONNX model through /dev/ai0. */
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <span>

#include <google/protobuf/stubs/logging.h>

#include <ai/ai.h>

#include "ai_engine.h"
#include "binding.h"
#include "cases.h"
#include "device_json.h"
#include "options.h"
#include "report.h"

namespace {

using namespace ai_run;

enum Exit { kOk = 0, kFailed = 1, kUsage = 2, kNoDevice = 3 };

int fail(const ai::Error& error, int status)
{
    /* In a pipe the lines before it would come after it. */
    std::fflush(stdout);
    std::fprintf(stderr, "ai-run: %s\n", error.message.c_str());
    return status;
}

struct Place {
    ai::Session session;
    ai::DeviceId device = ai::kAnyDevice;
};

ai::Result<Place> open_place(const std::string& device)
{
    ai::Result<ai::Session> session = ai::Session::open();
    if (!session)
        return std::move(session).error();
    if (device == "any")
        return Place{std::move(*session)};
    return session->device(device).transform([&](ai::Device&& found) {
        return Place{*session, found.id};
    });
}

int list(const Options& options)
{
    ai::Result<std::vector<ai::Device>> devices =
        ai::Session::open().and_then([](ai::Session&& session) { return session.devices(); });

    if (!devices)
        return fail(devices.error(), kNoDevice);
    if (!options.json) {
        print_devices(*devices);
        return kOk;
    }
    Json json = Json::array();
    for (const ai::Device& device : *devices)
        json.push_back(ai_tools::to_json(device));
    print_json(json);
    return kOk;
}

int run_cases(const Options& options)
{
    ai::Result<std::vector<std::string>> cases = find_cases(options.arguments);
    if (!cases)
        return fail(cases.error(), kUsage);
    ai::Result<Place> place = open_place(options.device);
    if (!place)
        return fail(place.error(), kNoDevice);

    AiEngine engine(place->session, place->device, options.timeout);
    std::size_t counts[3] = {};
    ai::Bytes copied;
    Json json = Json::array();
    for (const std::string& folder : *cases) {
        CaseResult result = run_case(engine, folder);
        counts[static_cast<std::size_t>(result.verdict)]++;
        for (const ai::Record& record : result.records)
            copied += record.cpu_copied;
        if (options.json)
            json.push_back(to_json(result));
        else
            print_case(result);
    }
    if (options.json)
        print_json({{"cases", json},
                    {"passed", counts[0]},
                    {"failed", counts[1]},
                    {"unsupported", counts[2]},
                    {"cpu_copied_bytes", copied.count()}});
    else
        std::printf("bytes of tensor data copied by the CPU: %zu\n"
                    "%zu passed, %zu failed, %zu unsupported\n",
                    static_cast<std::size_t>(copied.count()), counts[0], counts[1], counts[2]);
    return counts[static_cast<std::size_t>(Verdict::kFailed)] ? kFailed : kOk;
}

ai::Result<std::vector<ai::Tensor>> on_device(const ai::Session& session, const Inputs& inputs)
{
    std::vector<ai::Tensor> tensors;

    for (const HostTensor& input : inputs.tensors) {
        ai::Result<ai::Tensor> tensor = to_device(session, input);
        if (!tensor)
            return std::move(tensor).error();
        tensors.push_back(std::move(*tensor));
    }
    return tensors;
}

int run_model(const Options& options)
{
    ai::Result<Place> place = open_place(options.device);
    if (!place)
        return fail(place.error(), kNoDevice);

    ai::LoadOptions load;
    load.device = place->device;
    load.timeout = options.timeout;
    ai::Result<ai::Model> model =
        ai::Model::load_file(place->session, options.arguments.front(), load);
    if (!model)
        return fail(model.error(), kFailed);
    ai::Result<Inputs> inputs = bind_inputs(model->inputs(), options);
    if (!inputs)
        return fail(inputs.error(), kUsage);
    auto files = bind_outputs(model->outputs(), options);
    if (!files)
        return fail(files.error(), kUsage);
    ai::Result<std::vector<ai::Tensor>> in = on_device(place->session, *inputs);
    if (!in)
        return fail(in.error(), kFailed);
    ai::Result<ai::Device> device = place->session.device(model->device());
    if (!device)
        return fail(device.error(), kNoDevice);
    if (!options.json)
        print_model(*model, device->name, *inputs);

    std::vector<ai::Record> records;
    std::vector<ai::Tensor> out;
    ai::InferOptions infer;
    infer.timeout = options.timeout;
    for (unsigned i = 0; i < options.repeat; i++) {
        ai::Result<ai::Completion> done = ai::infer_into(*model, *in, out, infer);
        if (!done)
            return fail(done.error(), kFailed);
        if (!options.json)
            print_record(i + 1, done->record);
        records.push_back(std::move(done->record));
    }
    if (!options.json && records.size() > 1)
        print_summary(records);

    Json outputs = Json::array();
    for (std::size_t i = 0; i < out.size(); i++) {
        HostTensor tensor = from_device(out[i], model->outputs()[i].name);
        if (options.json)
            outputs.push_back(to_json(tensor));
        else
            print_output(i, tensor);
        if (!(*files)[i])
            continue;
        if (ai::Result<void> written = write_tensor(*(*files)[i], tensor); !written)
            return fail(written.error(), kFailed);
    }
    if (options.json) {
        Json runs = Json::array();
        for (const ai::Record& record : records)
            runs.push_back(to_json(record));
        print_json({{"model", model->name()},
                    {"version", model->version()},
                    {"device", device->name},
                    {"cached", model->cached()},
                    {"compile_ns", model->compile_time().count()},
                    {"inferences", runs},
                    {"outputs", outputs}});
    }
    return kOk;
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
        std::puts("ai-run " AI_VERSION_STRING);
        return kOk;
    }
    if (options->list)
        return list(*options);
    return options->cases ? run_cases(*options) : run_model(*options);
}

} // namespace

int main(int argc, char** argv)
{
    try {
        /* A damaged file is reported once, in our words. */
        google::protobuf::LogSilencer silence;
        return run({argv, static_cast<std::size_t>(argc)});
    } catch (const std::bad_alloc&) {
        return fail({ENOMEM, "there is not enough memory for this: make the inputs smaller, or end "
                             "other programs"},
                    kFailed);
    } catch (const std::exception& error) {
        return fail({0, error.what()}, kFailed);
    }
}
