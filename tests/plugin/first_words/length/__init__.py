"""How many words has a text?"""
