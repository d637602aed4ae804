# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime as OnnxRuntime::OnnxRuntime: from ORT_ROOT (variable or environment),
# else from where set-up has put it, else from the system.

if(DEFINED ENV{XDG_CACHE_HOME})
    set(_ort_cache $ENV{XDG_CACHE_HOME}/ai0/onnxruntime)
else()
    set(_ort_cache $ENV{HOME}/.cache/ai0/onnxruntime)
endif()
set(_ort_hints ${ORT_ROOT} $ENV{ORT_ROOT} ${_ort_cache})

find_path(OnnxRuntime_INCLUDE_DIR onnxruntime_cxx_api.h
    HINTS ${_ort_hints} PATH_SUFFIXES include include/onnxruntime)
find_library(OnnxRuntime_LIBRARY onnxruntime HINTS ${_ort_hints} PATH_SUFFIXES lib lib64)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OnnxRuntime
    REQUIRED_VARS OnnxRuntime_LIBRARY OnnxRuntime_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "run 'make setup', or set ORT_ROOT to an unpacked ONNX Runtime")

if(OnnxRuntime_FOUND AND NOT TARGET OnnxRuntime::OnnxRuntime)
    add_library(OnnxRuntime::OnnxRuntime SHARED IMPORTED)
    set_target_properties(OnnxRuntime::OnnxRuntime PROPERTIES
        IMPORTED_LOCATION ${OnnxRuntime_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${OnnxRuntime_INCLUDE_DIR})
endif()
mark_as_advanced(OnnxRuntime_INCLUDE_DIR OnnxRuntime_LIBRARY)
