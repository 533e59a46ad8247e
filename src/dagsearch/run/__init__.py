"""The run loop, the pools that compute rewards, and the rules for stopping."""
