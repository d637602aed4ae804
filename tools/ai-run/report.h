/* SPDX-License-Identifier: Apache-2.0 */
/* What ai-run prints: lines for people, or JSON. */
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <ai/ai.h>

#include "binding.h"
#include "cases.h"

namespace ai_run {

using Json = nlohmann::ordered_json;

void print_json(const Json& json);

Json to_json(const ai::Record& record);
Json to_json(const CaseResult& result);
/* Name, element type and shape; for strings the strings. */
Json to_json(const HostTensor& tensor);

void print_devices(const std::vector<ai::Device>& devices);
void print_model(const ai::Model& model, const std::string& device, const Inputs& inputs);
void print_record(std::size_t number, const ai::Record& record);
/* Least, middle and most of the run times. */
void print_summary(const std::vector<ai::Record>& records);
void print_output(std::size_t index, const HostTensor& tensor);
void print_case(const CaseResult& result);

} // namespace ai_run
