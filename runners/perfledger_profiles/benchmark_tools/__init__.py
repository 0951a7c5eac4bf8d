"""Owns the readers of benchmark and monitoring tools: DCGM, nccl-tests, MLPerf, vLLM and others."""
