"""Makes a bucket in moto's server, and someone who may use it; from then on the server checks each request's signature."""

import json
import sys
import urllib.request

import boto3

endpoint, bucket = sys.argv[1:]
anybody = {"aws_access_key_id": "a", "aws_secret_access_key": "a", "region_name": "us-east-1", "endpoint_url": endpoint}
boto3.client("s3", **anybody).create_bucket(Bucket=bucket)
users = boto3.client("iam", **anybody)
users.create_user(UserName="nightly")
statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
users.put_user_policy(UserName="nightly", PolicyName="all", PolicyDocument=policy)
key = users.create_access_key(UserName="nightly")["AccessKey"]
checks = {"data": b"0", "headers": {"Content-Type": "text/plain"}, "method": "POST"}
urllib.request.urlopen(urllib.request.Request(endpoint + "/moto-api/reset-auth", **checks)).read()
print(key["AccessKeyId"], key["SecretAccessKey"])
