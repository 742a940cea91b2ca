"""The demo: where should the next clinic stand, if nobody may learn where anyone lives?"""
