# What shares data between threads, under ThreadSanitizer: the rooms that start threads, or keep what several use, are compiled with
# it; all else (readers, placement, most kernels, the command line) is taken from the build without. That is a tenth of a whole build
# with TSan (`cmake --preset tsan`), so that every run of scripts/test can have it. The objects with it come first: of inline
# functions the linker takes theirs.
file(GLOB_RECURSE THREADS_SOURCES CONFIGURE_DEPENDS core/base/*.cpp core/device/*.cpp core/run/*.cpp core/ops/random/*.cpp
     core/ops/state/*.cpp core/train/*.cpp)
list(APPEND THREADS_SOURCES ${CMAKE_SOURCE_DIR}/core/op/kernel.cpp ${CMAKE_SOURCE_DIR}/core/tensor/tensor.cpp)
file(GLOB THREADS_PIPELINE CONFIGURE_DEPENDS core/*.cpp)
add_library(emplace_with_tsan OBJECT EXCLUDE_FROM_ALL ${THREADS_SOURCES} ${THREADS_PIPELINE})
target_link_libraries(emplace_with_tsan PRIVATE emplace_flags)
set(TSAN -fsanitize=thread -O1 -g0 -fno-omit-frame-pointer -U_FORTIFY_SOURCE)
target_compile_options(emplace_with_tsan PRIVATE ${TSAN})
target_precompile_headers(emplace_with_tsan PRIVATE ${EMPLACE_STL_HEADERS} <core/op/op_def.h> <core/graph/graph_file.h>)
set_target_properties(emplace_with_tsan PROPERTIES UNITY_BUILD ${EMPLACE_UNITY} UNITY_BUILD_MODE GROUP)

add_executable(emplace_tsan EXCLUDE_FROM_ALL $<TARGET_OBJECTS:emplace_with_tsan> $<TARGET_OBJECTS:emplace_cli>)
file(GLOB THREADS_TESTS CONFIGURE_DEPENDS tests/unit/run/*.cpp)
add_executable(emplace_threads EXCLUDE_FROM_ALL ${THREADS_TESTS} tests/unit/main.cpp tests/unit/base/fair_mutex_test.cpp
               tests/unit/base/host_memory_test.cpp tests/unit/train/staleness_test.cpp tests/unit/ops/sample_graph.cpp
               $<TARGET_OBJECTS:emplace_with_tsan>)
target_compile_options(emplace_threads PRIVATE ${TSAN})
target_precompile_headers(emplace_threads PRIVATE <catch2/catch.hpp>)
foreach(program emplace_tsan emplace_threads)
  target_link_libraries(${program} PRIVATE emplace_core nlohmann_json::nlohmann_json)
  target_link_options(${program} PRIVATE -fsanitize=thread)
endforeach()
