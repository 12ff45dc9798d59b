"""The head: a mixture of learners, tempered and shifted, seen through a channel."""
