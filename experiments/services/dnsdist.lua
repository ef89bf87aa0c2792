-- Nobody else is asked: neither a server behind it nor whether this version is safe.
setSecurityPollSuffix("")
setLocal("127.0.0.1:{port}")
setACL({"127.0.0.0/8"})
addAction(AllRule(), SpoofAction("127.1.1.1", {ttl=3600, aa=true}))
