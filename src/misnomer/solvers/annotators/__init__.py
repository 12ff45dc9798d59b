"""Several annotators: channels of their own, fitted by EM or drawn."""
