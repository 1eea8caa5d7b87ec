"""optsched"""
