window.BENCHMARK_DATA = {
  "lastUpdate": 1692110807095,
  "repoUrl": "https://github.com/duckstax/actor-zeta",
  "entries": {
    "Benchmark actors_ping_pong_scheduled gcc-10 20.04 Debug c++-17": [
      {
        "commit": {
          "distinct": true,
          "id": "13f5d5708aa4baefe68655e94d167b4efc46662f",
          "message": "BM run GCC and Clang",
          "timestamp": "2023-08-15T17:01:02+03:00",
          "tree_id": "0582bed100837da8b35e1568fdf6634365e7ed04",
          "url": "https://github.com/duckstax/actor-zeta/commit/13f5d5708aa4baefe68655e94d167b4efc46662f"
        },
        "date": 1692110806050,
        "tool": "googlecpp",
        "benches": [
          {
            "name": "fixture_t<int8_t>/ping_pong_single_threaded_1_int8_t/0",
            "value": 23650.877700000023,
            "unit": "ns/iter",
            "extra": "iterations: 100000\ncpu: 7154.041 ns\nthreads: 1"
          },
          {
            "name": "fixture_t<int8_t, int8_t>/ping_pong_single_threaded_2_int8_t/0",
            "value": 34471.7080810376,
            "unit": "ns/iter",
            "extra": "iterations: 65895\ncpu: 10645.869944608849 ns\nthreads: 1"
          }
        ]
      }
    ]
  }
}
