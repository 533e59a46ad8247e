-- The questions of TPC-H, with fixed parameters, and a few short ones that an application asks all day.

-- Q1: what was shipped, by status
SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)), count(*)
FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval '90 days'
GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus;

-- Q2: the cheapest supplier of a part in a region
SELECT s_acctbal, s_name, n_name, p_partkey FROM part, supplier, partsupp, nation, region
WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%BRASS'
AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
AND ps_supplycost = (
    SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region
    WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
    AND n_regionkey = r_regionkey AND r_name = 'EUROPE')
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100;

-- Q3: unshipped orders of the highest value
SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer, orders, lineitem
WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
AND o_orderdate < date '1995-03-15' AND l_shipdate > date '1995-03-15'
GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate LIMIT 10;

-- Q4: late orders by priority
SELECT o_orderpriority, count(*) FROM orders
WHERE o_orderdate >= date '1993-07-01' AND o_orderdate < date '1993-10-01'
AND EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority ORDER BY o_orderpriority;

-- Q5: revenue of local suppliers
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer, orders, lineitem, supplier, nation, region
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
AND o_orderdate >= date '1994-01-01' AND o_orderdate < date '1995-01-01'
GROUP BY n_name ORDER BY revenue DESC;

-- Q6: what smaller discounts would have earned
SELECT sum(l_extendedprice * l_discount) FROM lineitem
WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01'
AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24;

-- Q7: trade between two nations
SELECT n1.n_name, n2.n_name, extract(year FROM l_shipdate), sum(l_extendedprice * (1 - l_discount))
FROM supplier, lineitem, orders, customer, nation n1, nation n2
WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
AND n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY' AND l_shipdate BETWEEN date '1995-01-01' AND date '1996-12-31'
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- Q8: market share
SELECT extract(year FROM o_orderdate) AS o_year, sum(l_extendedprice * (1 - l_discount))
FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA'
AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN date '1995-01-01' AND date '1996-12-31'
AND p_type = 'ECONOMY ANODIZED STEEL' GROUP BY o_year ORDER BY o_year;

-- Q9: profit by nation and year
SELECT n_name, extract(year FROM o_orderdate) AS o_year, sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)
FROM part, supplier, lineitem, partsupp, orders, nation
WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%'
GROUP BY n_name, o_year ORDER BY n_name, o_year DESC;

-- Q10: customers who return parts
SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= date '1993-10-01'
AND o_orderdate < date '1994-01-01' AND l_returnflag = 'R' AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_name, c_acctbal, n_name ORDER BY revenue DESC LIMIT 20;

-- Q11: important stock of a nation
SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
GROUP BY ps_partkey ORDER BY value DESC;

-- Q12: late deliveries by mode
SELECT l_shipmode, count(*) FROM orders, lineitem
WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
AND l_shipdate < l_commitdate AND l_receiptdate >= date '1994-01-01' AND l_receiptdate < date '1995-01-01'
GROUP BY l_shipmode ORDER BY l_shipmode;

-- Q13: orders per customer
SELECT c_custkey, count(o_orderkey) FROM customer LEFT JOIN orders ON c_custkey = o_custkey
AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey;

-- Q14: share of promotions
SELECT sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) FROM lineitem, part
WHERE l_partkey = p_partkey AND l_shipdate >= date '1995-09-01' AND l_shipdate < date '1995-10-01';

-- Q15: suppliers of a quarter by revenue
SELECT s_suppkey, s_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM supplier, lineitem
WHERE s_suppkey = l_suppkey AND l_shipdate >= date '1996-01-01' AND l_shipdate < date '1996-04-01'
GROUP BY s_suppkey, s_name ORDER BY revenue DESC LIMIT 1;

-- Q16: suppliers per kind of part
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) FROM partsupp, part
WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
GROUP BY p_brand, p_type, p_size;

-- Q17: small orders of a part
SELECT sum(l_extendedprice) / 7.0 FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey);

-- Q18: customers with large orders
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) FROM customer, orders, lineitem
WHERE o_totalprice > 400000 AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate LIMIT 100;

-- Q19: revenue of parts in some containers
SELECT sum(l_extendedprice * (1 - l_discount)) FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
AND l_quantity BETWEEN 1 AND 11 AND p_size BETWEEN 1 AND 5 AND l_shipmode IN ('AIR', 'REG AIR')
AND l_shipinstruct = 'DELIVER IN PERSON';

-- Q20: suppliers with an excess of a part
SELECT s_name, s_address FROM supplier, nation WHERE s_nationkey = n_nationkey AND n_name = 'CANADA'
AND s_suppkey IN (
    SELECT ps_suppkey FROM partsupp, part WHERE ps_partkey = p_partkey AND p_name LIKE 'forest%' AND ps_availqty > 9900)
ORDER BY s_name;

-- Q21: suppliers who kept orders waiting
SELECT s_name, count(*) AS waiting FROM supplier, lineitem, orders, nation
WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND o_orderstatus = 'F' AND l_receiptdate > l_commitdate
AND s_nationkey = n_nationkey AND n_name = 'SAUDI ARABIA' GROUP BY s_name ORDER BY waiting DESC, s_name LIMIT 100;

-- Q22: customers with money and without orders
SELECT c_nationkey, count(*), sum(c_acctbal) FROM customer
WHERE c_nationkey IN (13, 7, 4) AND c_acctbal > 7000
AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey) GROUP BY c_nationkey;

-- A customer's open orders
SELECT o_orderkey, o_orderdate, o_totalprice FROM orders WHERE o_custkey = 370 AND o_orderstatus = 'O'
ORDER BY o_orderdate DESC;

-- What a clerk did in a month
SELECT o_orderkey, o_custkey FROM orders WHERE o_clerk = 'Clerk#000000007'
AND o_orderdate >= date '1996-05-01' AND o_orderdate < date '1996-06-01';

-- Where a part was shipped to last
SELECT l_orderkey, l_shipdate FROM lineitem WHERE l_partkey = 155 ORDER BY l_shipdate DESC LIMIT 10;

-- What a supplier has to deliver on a day
SELECT l_orderkey, l_partkey, l_quantity FROM lineitem WHERE l_suppkey = 42 AND l_commitdate = date '1997-03-03';

-- Returned parts of a supplier
SELECT l_partkey, count(*) FROM lineitem WHERE l_suppkey = 17 AND l_returnflag = 'R' GROUP BY l_partkey;

-- Stock of a supplier that runs out
SELECT ps_partkey, ps_availqty FROM partsupp WHERE ps_suppkey = 33 AND ps_availqty < 100;

-- Customers of a nation and a segment, by balance
SELECT c_custkey, c_name, c_acctbal FROM customer WHERE c_nationkey = 3 AND c_mktsegment = 'MACHINERY'
ORDER BY c_acctbal DESC LIMIT 20;

-- The customer with a telephone number
SELECT c_custkey, c_name FROM customer WHERE c_phone = '13-702-694-4520';

-- Parts of a brand in a container, by price
SELECT p_partkey, p_name, p_retailprice FROM part WHERE p_brand = 'Brand#34' AND p_container = 'LG CASE'
ORDER BY p_retailprice;

-- Urgent orders that are still open
SELECT o_orderkey, o_orderdate FROM orders WHERE o_orderpriority = '1-URGENT' AND o_orderstatus = 'P'
ORDER BY o_orderdate LIMIT 50;
