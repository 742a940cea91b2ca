"""The demo: where should the next clinic be built, if nobody may learn where anyone lives?"""
