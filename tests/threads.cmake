# emplace_tsan: the program with what threads share under ThreadSanitizer. What starts threads, runs on several or keeps what they
# share is compiled with it; all else (readers, placement, most kernels, the command line) is taken from the build without: 15
# objects, where a whole build with TSan (`cmake --preset tsan`) has them all. The objects with it come first: of functions that are
# there twice the linker takes theirs. Rooms whose files keep something for the process (base, device) are compiled as a whole, since a
# compiler puts short functions into those that call them, with what the other object keeps.
file(GLOB THREADS_SOURCES CONFIGURE_DEPENDS core/base/*.cpp core/device/*.cpp core/run/*.cpp core/ops/state/*.cpp core/cluster/*.cpp)
foreach(file op/kernel ops/random/random_state pipeline_run report/compare/lockstep run_watch tensor/tensor train/batches train/dataset
        steps_in_flight train/sample_array train/tower_loops train/train_loop train/train_reports training_run)
  list(APPEND THREADS_SOURCES ${CMAKE_SOURCE_DIR}/core/${file}.cpp)
endforeach()
add_library(emplace_with_tsan OBJECT EXCLUDE_FROM_ALL ${THREADS_SOURCES})
target_link_libraries(emplace_with_tsan PRIVATE emplace_flags)
set(TSAN -fsanitize=thread -O1 -g0 -fno-omit-frame-pointer -U_FORTIFY_SOURCE)
target_compile_options(emplace_with_tsan PRIVATE ${TSAN})
target_precompile_headers(emplace_with_tsan PRIVATE ${EMPLACE_STAGE_HEADERS})
if(EMPLACE_UNITY)
  emplace_compile_together(emplace_with_tsan)
endif()

# Objects of the release build bring along what stands in one of these, too, where a room is not here as a whole: the first counts.
add_executable(emplace_tsan EXCLUDE_FROM_ALL $<TARGET_OBJECTS:emplace_with_tsan> $<TARGET_OBJECTS:emplace_cli>)
target_link_libraries(emplace_tsan PRIVATE emplace_core)
target_link_options(emplace_tsan PRIVATE -fsanitize=thread -Wl,-z,muldefs)

# emplace_tsan_unit: the unit tests of the same. Those that start threads by themselves are compiled with TSan, the others are the
# release build's, RELEASED_UNITS in CMakeLists.txt; those that count allocations would count TSan's.
set(TSAN_UNITS base/fair_mutex base/host_memory run/stop_signal run/thread_pool train/staleness)
list(TRANSFORM TSAN_UNITS REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/tests/unit/\\1_test.cpp")
add_executable(emplace_tsan_unit EXCLUDE_FROM_ALL ${TSAN_UNITS} $<TARGET_OBJECTS:emplace_with_tsan> $<TARGET_OBJECTS:emplace_unit_main>
               "$<FILTER:$<TARGET_OBJECTS:emplace_unit>,INCLUDE,${RELEASED_UNITS}>")
target_compile_options(emplace_tsan_unit PRIVATE ${TSAN})
target_link_libraries(emplace_tsan_unit PRIVATE emplace_core nlohmann_json::nlohmann_json)
target_link_options(emplace_tsan_unit PRIVATE -fsanitize=thread -Wl,-z,muldefs)
